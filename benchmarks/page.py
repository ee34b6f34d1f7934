"""The page: size and time of report.html beside the figures' time, the table of 10, 100 and 1,000 runs, 50 readers
while a run is written, and in Chromium, where there is one, the live delay and how smoothly 500 epochs scroll.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import threading
import time
import tracemalloc
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from replab import api
from replab.records.events import Event
from replab.records.journal import Journal
from replab.records.record import Record
from replab.records.values import Values
from replab.report.page import page
from replab.report.write import draw
from replab.web.app import Site
from replab.web.listing import Listing
from replab.web.pages import columns
from replab.web.serve import serve


def report(record: Record) -> None:
    start = time.process_time()
    figures = draw(Values(record))
    drawn = time.process_time() - start
    page(Values(record), figures)  # templates are compiled once per process
    start = time.process_time()
    text = page(Values(record), figures)
    seconds = time.process_time() - start
    print(f"report.html: {len(text) / 1e6:.2f} MB in {1000 * seconds:.0f} ms (the figures: {1000 * drawn:.0f} ms)")


def table(run: Path, runs: Path, count: int) -> None:
    for i in range(count):
        folder = runs / f"{i:06d}-{run.name}"
        folder.mkdir()
        for name in ("recipe.toml", "chosen.toml", "metrics.json", "input.json", "environment.json", "manifest.jsonl"):
            shutil.copy(run / name, folder / name)
    site = Site(runs, runs)
    start = time.process_time()  # of this process: other work on the machine does not count
    text = rendered(site)
    first = time.process_time() - start
    start = time.process_time()
    rendered(site)
    again = time.process_time() - start
    tracemalloc.start()
    Listing(runs).rows()
    memory = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    print(
        f"{count:,} runs: first table {first:.2f} CPU seconds, again {again:.2f}, {len(text) / 1e6:.2f} MB of HTML,"
        f" {memory:.0f} MB of memory"
    )


def rendered(site: Site) -> str:
    rows = site.listing.rows()
    return bytes(site.rendered(None, "runs.html", rows=rows, **columns(rows)).body).decode()


def address_of(runs: Path) -> str:
    told: list[str] = []
    arguments = (runs, runs, "127.0.0.1", 0, None, lambda url, token: told.append(url))
    threading.Thread(target=serve, args=arguments, daemon=True).start()
    while not told:
        time.sleep(0.01)
    return told[0]


def epoch(folder: Path, row: dict[str, float], number: int, total: int) -> None:
    """Told as the training loop tells it."""
    facts = {"epoch": number, "total": total, "row": {**row, "epoch": number}, "seconds": 1.0}
    Journal(folder).hear(Event("epoch", {**facts, "times": {"train_seconds": 1.0, "images": 1000}}))


def half_written(run: Any, runs: Path) -> Path:
    """A run that has a lock and no result yet."""
    folder = runs / "99990101-000000-live"
    shutil.copytree(run.folder, folder, ignore=shutil.ignore_patterns("metrics.json", "epochs.jsonl", "*.jsonl"))
    return folder


def readers(run: Any, runs: Path) -> None:
    """50 at once, while epochs end."""
    folder, address = half_written(run, runs), address_of(runs)
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            epoch(folder, run.epochs[-1], number, 1000)
            time.sleep(0.02)

    def read(path: str) -> float:
        start = time.perf_counter()
        with urllib.request.urlopen(address + path) as answer:
            answer.read()
        return time.perf_counter() - start

    paths = ["", "runs.json", f"runs/{run.id}", f"runs/{folder.name}", f"runs/{folder.name}/live.json"]
    with Record(folder).lock(), ThreadPoolExecutor(50) as crew:
        writer = threading.Thread(target=write)
        writer.start()
        started = time.perf_counter()
        seconds = sorted(crew.map(read, [paths[i % 5] for i in range(250)]))
        whole = time.perf_counter() - started
        stop.set()
        writer.join()
    each = f"{statistics.median(seconds):.2f} s median, {seconds[-1]:.2f} s at most"
    print(f"50 readers at once, 250 pages while a run is written: {whole:.1f} s, {each}")
    shutil.rmtree(folder)


def browser_figures(run: Any, runs: Path) -> None:
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests/replab"))
    from browser import MISSING, NOT_RUN, Browser

    if MISSING:
        print(f"live delay and scrolling were not measured: {NOT_RUN}")
        return
    folder, row = half_written(run, runs), run.epochs[-1]
    with tempfile.TemporaryDirectory() as profile, Record(folder).lock():
        page = Browser(profile)
        for number in range(1, 491):
            epoch(folder, row, number, 500)
        page.open(f"{address_of(runs)}runs/{folder.name}")
        delays = []
        for number in range(491, 501):
            time.sleep(0.37)  # at no fixed place within the second between two questions
            epoch(folder, row, number, 500)
            start = time.perf_counter()
            while f"epoch {number} of" not in page.run("return document.getElementById('state').textContent"):
                time.sleep(0.01)
            delays.append(time.perf_counter() - start)
        print(f"live delay: {statistics.median(delays):.2f} s median, {max(delays):.2f} s at most (10 of 500 epochs)")
        page.driver.set_script_timeout(60)
        frames = page.driver.execute_async_script(SCROLLING)
        page.close()
    share = sum(frame < 34 for frame in frames) / len(frames)
    each = f"{statistics.median(frames):.0f} ms per frame, {share:.0%} within 34 ms, {max(frames):.0f} ms at most"
    print(f"scrolling and hovering over 500 epochs: {each}")
    shutil.rmtree(folder)


SCROLLING = """
const done = arguments[0], frames = [], plot = document.querySelector(".plot");
let last = performance.now(), i = 0;
document.body.style.minHeight = "4000px";
function frame(now) {
  frames.push(now - last);
  last = now;
  scrollTo(0, 300 * Math.abs(Math.sin(i / 20)));
  const box = plot.getBoundingClientRect();
  const at = { clientX: box.left + 60 + (i * 3) % 300, clientY: box.top + 90, bubbles: true };
  plot.dispatchEvent(new PointerEvent("pointermove", at));
  if (++i < 120) requestAnimationFrame(frame); else done(frames.slice(2));
}
requestAnimationFrame(frame);
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = api.run("cnn", limit=1000, lr=1e-3, epochs=2, runs=Path(folder, "runs"), quiet=True)
        report(run.record)
        for count in (10, 100, 1000):
            runs = Path(folder, str(count))
            runs.mkdir()
            table(run.folder, runs, count)
        readers(run, Path(folder, "runs"))
        browser_figures(run, Path(folder, "runs"))


if __name__ == "__main__":
    main()

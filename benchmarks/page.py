"""The page: size and time of report.html beside the figures' time, and the table of 10, 100 and 1,000 runs."""

from __future__ import annotations

import shutil
import tempfile
import time
import tracemalloc
from pathlib import Path

from replab import api
from replab.records.record import Record
from replab.records.values import Values
from replab.report.page import page
from replab.report.write import draw
from replab.web.app import Site
from replab.web.listing import Listing
from replab.web.pages import columns


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
    settings, metrics = columns(rows)
    return bytes(site.rendered(None, "runs.html", rows=rows, settings=settings, metrics=metrics).body).decode()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = api.run("cnn", limit=1000, lr=1e-3, epochs=2, runs=Path(folder, "runs"), quiet=True)
        report(run.record)
        for count in (10, 100, 1000):
            runs = Path(folder, str(count))
            runs.mkdir()
            table(run.folder, runs, count)


if __name__ == "__main__":
    main()

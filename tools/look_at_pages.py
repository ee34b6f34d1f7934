"""Every page of replab view and both pages on disk, in every state, as pictures; and what axe-core says of each.

python tools/look_at_pages.py RUNS OUT [--no-axe] [--docs docs/images]

RUNS is a folder of runs with two classifiers of the same images and a model that makes images. Pictures are taken at
1440, 1024 and 390 pixels, light and dark; report.html is also printed as a PDF. axe-core comes from npm (`npm pack`);
the exit code is 1 if it finds a violation. tests/replab/web/test_accessible.py looks at roles and names instead.
"""

from __future__ import annotations

import argparse
import base64
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/replab"))

from browser import Browser  # noqa: E402 (helpers of the tests)
from serving import served  # noqa: E402

from replab import api  # noqa: E402
from replab.web.published import page as ledger_page  # noqa: E402

WIDTHS = (1440, 1024, 390)
THEMES = ("light", "dark")
TALLEST = 6000  # pixels of a picture

SHOWN = {  # state → file, window, theme, what is scrolled to
    "runs": ("page-runs.png", 1200, 470, "light", "#none"),
    "run": ("page-report.png", 1200, 860, "light", "#confusion"),
    "compare": ("page-compare.png", 1200, 1000, "dark", "#none"),
    "explore": ("page-explore.png", 1200, 900, "light", "#none"),
    "ledger": ("page-ledger.png", 1200, 800, "light", "#none"),
}

Step = Callable[[Browser], object]


def states(runs: Path, address: str, ledger: Path) -> Iterator[tuple[str, str, Step]]:
    """(name, address, what is done there first)."""
    finished = [run for run in map(api.Run, api.Record.all(runs)) if run.finished]
    classifiers = [run for run in finished if run.values.answers is not None and run.values.task == "classify"]
    makers = [run for run in finished if "samples" in run.predictions]
    groups = [
        [other for other in classifiers if other.input["fingerprint"] == run.input["fingerprint"]]
        for run in classifiers
    ]
    alike = max(groups, key=len)
    stopped = [record for record in api.Record.all(runs) if not record.has("metrics.json")]
    run, nothing = alike[0], lambda page: None
    yield "runs", address, nothing
    yield "runs-columns", address, lambda page: page.click(".columns summary")
    yield "run", f"{address}runs/{run.id}", confused
    yield "run-mistake", f"{address}runs/{run.id}", lambda page: page.click("#mistake-images .thumb")
    for record in stopped[:1]:
        yield "run-stopped", f"{address}runs/{record.id}", nothing
    if len(alike) > 1:
        yield "compare", f"{address}compare?" + "&".join(f"run={one.id}" for one in alike[:3]), nothing
    yield "explore", f"{address}runs/{run.id}/explore", tried
    for one in makers[:1]:
        yield "explore-makes-images", f"{address}runs/{one.id}/explore", walked
        yield "run-makes-images", f"{address}runs/{one.id}", nothing
    yield "ledger", f"{address}ledger", nothing
    yield "ledger-row", f"{address}ledger", lambda page: page.click("button[data-row]")
    yield "catalogue", f"{address}catalogue", counted
    yield (
        "catalogue-model",
        f"{address}catalogue",
        lambda page: looked(page, "#models tr[data-name=cnn] button", ".box"),
    )
    yield (
        "catalogue-data",
        f"{address}catalogue",
        lambda page: looked(page, "#sources tr[data-name=digits] button", "canvas"),
    )
    yield "start", f"{address}start", nothing
    yield "start-refused", f"{address}start", refused
    yield "not-there", f"{address}runs/nothing", nothing
    yield "report-on-disk", (run.folder.resolve() / "report.html").as_uri(), lambda page: page.click(".matrix button")
    yield "ledger-on-disk", ledger.as_uri(), nothing


def confused(page: Browser) -> None:
    """The images of the most frequent mistake."""
    wrong = page.all(".matrix td:not(.diagonal) button")
    counts = [int(text) for text in page.texts(".matrix td:not(.diagonal) button")]
    page.run("arguments[0].click()", wrong[counts.index(max(counts))])


def tried(page: Browser) -> None:
    page.wait(lambda: page.all("#few button, #few .thumb"))
    page.click("#few .thumb")
    page.wait(lambda: page.all("#maps figcaption, #maps canvas"))
    page.click("#points-make")
    page.wait(lambda: page.all("#points .plot"))
    press = "arguments[0].dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))"
    page.run(press, page.one("#points .plot"))


def walked(page: Browser) -> None:
    page.wait(lambda: page.all("#walk-image canvas"))


def counted(page: Browser) -> None:
    page.wait(lambda: page.texts("#models tbody tr:last-child td")[0])


def looked(page: Browser, button: str, content: str) -> None:
    page.click(button)
    page.wait(lambda: page.all(f"#closer {content}"))


def refused(page: Browser) -> None:
    page.run("document.querySelectorAll('details').forEach(one => { one.open = true })")
    page.one("[name=batch_size]").send_keys("much")
    page.click("#cost")
    page.wait(lambda: page.one("#start-fault").text)


def themed(page: Browser, theme: str) -> None:
    wanted = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", wanted)


def picture(page: Browser, width: int, file: Path) -> None:
    """The whole page, as far as TALLEST."""
    page.resize(width, 900)
    height = int(page.run("return Math.max(900, document.documentElement.scrollHeight)"))
    clip = {"x": 0, "y": 0, "width": width, "height": min(height, TALLEST), "scale": 1}
    asked = {"format": "png", "captureBeyondViewport": True, "clip": clip}
    if page.all("dialog[open]"):
        asked = {"format": "png"}
    file.write_bytes(base64.b64decode(page.driver.execute_cdp_cmd("Page.captureScreenshot", asked)["data"]))


def documented(page: Browser, name: str, folder: Path) -> None:
    """The pictures of docs/page.md and of the README: what a window of this size shows."""
    if name not in SHOWN:
        return
    file, width, height, theme, place = SHOWN[name]
    themed(page, theme)
    page.resize(width, height)
    page.run("scrollTo(0, 0); document.querySelector(arguments[0])?.scrollIntoView()", place)
    made = page.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    (folder / file).write_bytes(base64.b64decode(made["data"]))


def printed(page: Browser, file: Path) -> None:
    made = page.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    file.write_bytes(base64.b64decode(made["data"]))


def axe_core() -> str:
    """Its script, from the npm registry."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", "axe-core"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as archive:
            member = archive.extractfile("package/axe.min.js")
            assert member is not None
            return member.read().decode()


def violations(page: Browser, script: str) -> list[dict[str, Any]]:
    """By axe.run over the whole document, with all of its rules."""
    page.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": script})  # the page's own policy lets no script in
    asked = {"expression": "axe.run(document).then(found => found.violations)", "awaitPromise": True}
    asked["returnByValue"] = True
    return list(page.driver.execute_cdp_cmd("Runtime.evaluate", asked)["result"]["value"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--no-axe", action="store_true", help="take pictures alone")
    parser.add_argument("--docs", type=Path, help="also make the pictures of docs/page.md, in this folder")
    parser.add_argument("--only", default="", help="states by name, joined by commas")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    script, found, checked = "" if asked.no_axe else axe_core(), 0, 0
    ledger = asked.out / "ledger.html"
    ledger.write_text(ledger_page(ROOT / "results"), encoding="utf-8")
    with tempfile.TemporaryDirectory() as profile:
        page = Browser(profile)
        page.driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
        if script:
            page.open("data:text/html,<img src='x'>")
            assert violations(page, script), "axe-core does not see what is wrong with an image without a name"
        address, token = served(asked.runs, results=ROOT / "results")
        page.open(f"{address}?token={token}")
        for name, url, step in states(asked.runs, address, ledger.resolve()):
            if asked.only and name not in asked.only.split(","):
                continue
            page.resize(1440, 900)
            page.open(url)
            step(page)
            if asked.docs:
                documented(page, name, asked.docs)
            for width in WIDTHS:
                for theme in THEMES:
                    themed(page, theme)
                    picture(page, width, asked.out / f"{name}-{width}-{theme}.png")
                    if script and width != 1024:
                        checked += 1
                        for one in violations(page, script):
                            found += 1
                            print(f"{name} {width} {theme}: {one['id']}: {one['help']}")
                            for node in one["nodes"][:3]:
                                print(f"    {node['html'][:200]}")
            themed(page, "light")
            if name == "report-on-disk":
                printed(page, asked.out / "report.pdf")
            with suppress(Exception):
                page.complaints()
            print(f"{name}: pictures in {asked.out}", flush=True)
        version = page.run("return window.axe?.version ?? ''") if script else ""
        page.close()
    if script:
        print(f"axe-core {version}: {found} violations in {checked} looks")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())

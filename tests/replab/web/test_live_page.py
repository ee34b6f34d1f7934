"""replab view in a real browser: filter, sort and compare runs, and watch one that is running."""

import shutil

import pytest

from replab import api
from replab.records.events import Event
from replab.records.journal import Journal
from replab.records.record import Record


@pytest.fixture
def address(page):
    return page[0]


def shown(browser) -> list[str]:
    return browser.run("return [...document.querySelectorAll('#runs tbody tr:not([hidden])')].map(r => r.dataset.run)")


def test_runs_are_filtered_and_sorted(browser, address, runs):
    browser.open(address)
    known = {run.id: run for run in map(api.Run, api.Record.all(runs))}
    assert shown(browser) == sorted(known, reverse=True)  # the newest first
    field = browser.one("#filter")
    field.send_keys("epochs>1 mlp")
    wanted = {id for id, run in known.items() if run.chosen.epochs > 1 and run.chosen.model == "mlp"}
    assert 0 < len(wanted) < len(known)
    browser.wait(lambda: set(shown(browser)) == wanted)
    accuracies = {id: run.metrics["accuracy"] for id, run in known.items() if "accuracy" in run.metrics}
    field.clear()
    field.send_keys("accuracy>=" + str(max(accuracies.values())))
    browser.wait(lambda: set(shown(browser)) == {id for id, a in accuracies.items() if a == max(accuracies.values())})
    field.clear()
    field.send_keys(" ")
    browser.wait(lambda: len(shown(browser)) == len(known))
    for down in (False, True):
        browser.click("#runs th[data-column=accuracy] button")
        found = [accuracies[id] for id in shown(browser) if id in accuracies]
        assert found == sorted(accuracies.values(), reverse=down)


def test_a_chosen_metric_stands_beside_the_accuracy_with_its_interval(browser, address, classifier):
    browser.open(address)
    heads = [head.get_attribute("data-column") for head in browser.all("#runs thead th") if head.is_displayed()]
    assert heads[5:8] == ["accuracy", "loss", "macro_f1"]
    cell = browser.all(f"tr[data-run='{classifier.id}'] td.number")[2]
    m = classifier.metrics
    assert cell.text.splitlines() == [f"{m['macro_f1']:.4g}", f"{m['macro_f1_low']:.4g} to {m['macro_f1_high']:.4g}"]


def test_columns_are_chosen(browser, address):
    browser.open(address)
    browser.click(".columns summary")
    box = browser.one("#columns input")
    head = browser.one("#runs th[data-column=accuracy]")
    assert head.is_displayed() == box.is_selected() is True
    box.click()
    assert not head.is_displayed()


def test_two_runs_are_compared(browser, address, classifier, finished_run):
    browser.open(address)
    assert not browser.one("#compare button").is_enabled()
    for run in (classifier, finished_run):
        browser.one(f"tr[data-run='{run.id}'] input").click()
    browser.click("#compare button")
    browser.wait(lambda: "/compare?run=" in browser.driver.current_url)
    legend = browser.one(".legend").text
    assert "McNemar" in browser.one("main").text
    rows = {row.split()[0]: row for row in browser.one("main table tbody").text.splitlines()}
    for run in (classifier, finished_run):
        assert run.id in legend
        assert f"{run.metrics['accuracy']:.2%}" in rows[run.id]
    assert f"{classifier.metrics['macro_f1']:.4f}" in rows[classifier.id]


def test_a_running_runs_curve_grows(browser, address, runs, classifier):
    """A run that is half written, its lock held: each epoch is on the page soon after its end; then the report is."""
    whole, rows = classifier.folder, classifier.epochs
    folder = runs / "99990101-000000-live"
    shutil.copytree(whole, folder, ignore=shutil.ignore_patterns("metrics.json", "epochs.jsonl", "events.jsonl"))
    (folder / "manifest.jsonl").unlink()
    record = Record(folder)
    try:
        with record.lock():
            browser.open(address + "runs/" + folder.name)
            assert "training epoch 0 of 3" in browser.one("#state").text
            for row in rows:
                facts = {
                    "epoch": int(row["epoch"]),
                    "total": 3,
                    "row": row,
                    "seconds": 60.0,
                    "times": {"train_seconds": 60.0, "images": 150},
                }
                Journal(folder).hear(Event("epoch", facts))
                told = f"epoch {row['epoch']:.0f} of 3"
                browser.wait(lambda told=told: told in browser.one("#state").text, 3)
                points = browser.run("return document.querySelector('.plot path.line').getAttribute('d')")
                assert points.count("L") == int(row["epoch"]) - 1
            browser.open(address)
            assert "training" in browser.one("tr[data-run$=live] .state").text
        browser.open(address)
        assert "stopped" in browser.one("tr[data-run$=live] .state").text
        assert f"replab resume {folder.name}" in browser.one("tr[data-run$=live] .state").text
        browser.open(address + "runs/" + folder.name)
        shutil.copy(whole / "epochs.jsonl", folder)
        shutil.copy(whole / "metrics.json", folder)
        browser.wait(lambda: browser.all("table.matrix"))
    finally:
        shutil.rmtree(folder)


def test_a_run_that_is_not_there_is_said_so(chromium, address):
    chromium.open(address + "runs/nothing")
    assert "replab: there is no such run in this folder" in chromium.one("main").text
    chromium.complaints()  # the browser notes the 404

"""replab view in a real browser: filter, sort and compare runs, and watch one that is running."""

import shutil

import pytest
from serving import served

from replab import api
from replab.records.events import Event
from replab.records.journal import Journal
from replab.records.record import Record


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three finished runs on the same images."""
    folder = tmp_path_factory.mktemp("runs")
    for epochs in (1, 2, 4):
        api.run("mlp", limit=150, params={"widths": [8]}, lr=3e-3, epochs=epochs, runs=folder)
    return folder


@pytest.fixture(scope="module")
def address(runs):
    return served(runs)[0]


def shown(browser) -> list[str]:
    return [row.get_attribute("data-run") for row in browser.all("#runs tbody tr") if row.is_displayed()]


def test_runs_are_filtered_and_sorted(browser, address, runs):
    browser.open(address)
    everything = sorted(path.name for path in runs.iterdir())
    assert sorted(shown(browser)) == everything
    field = browser.one("#filter")
    field.send_keys("epochs>1 mlp")
    browser.wait(lambda: len(shown(browser)) == 2)
    accuracies = {run.id: run.metrics["accuracy"] for run in (api.load_run(id, runs) for id in everything)}
    field.clear()
    field.send_keys("accuracy>=" + str(max(accuracies.values())))
    browser.wait(lambda: set(shown(browser)) == {id for id, a in accuracies.items() if a == max(accuracies.values())})
    field.clear()
    field.send_keys(" ")
    browser.wait(lambda: len(shown(browser)) == 3)
    browser.click("#runs th[data-column=accuracy] button")
    assert [accuracies[id] for id in shown(browser)] == sorted(accuracies.values())
    browser.click("#runs th[data-column=accuracy] button")
    assert [accuracies[id] for id in shown(browser)] == sorted(accuracies.values(), reverse=True)


def test_columns_are_chosen(browser, address):
    browser.open(address)
    browser.click(".columns summary")
    box = browser.one("#columns input")
    head = browser.one("#runs th[data-column=accuracy]")
    assert head.is_displayed() == box.is_selected() is True
    box.click()
    assert not head.is_displayed()


def test_two_runs_are_compared(browser, address, runs):
    browser.open(address)
    boxes = browser.all("#runs tbody input")
    assert not browser.one("#compare button").is_enabled()
    boxes[0].click()
    boxes[1].click()
    browser.click("#compare button")
    browser.wait(lambda: "/compare?run=" in browser.driver.current_url)
    wanted = sorted(path.name for path in runs.iterdir())[-2:]
    legend = browser.one(".legend").text
    assert all(id in legend for id in wanted)
    assert "McNemar" in browser.one("main").text
    rows = {row.split()[0]: row for row in browser.one("main table tbody").text.splitlines()}
    for id in wanted:
        assert f"{api.load_run(id, runs).metrics['accuracy']:.2%}" in rows[id]


def test_a_running_runs_curve_grows(browser, address, runs):
    """A run that is half written, its lock held: each epoch is on the page soon after its end; then the report is."""
    whole = sorted(path for path in runs.iterdir())[-1]
    folder = runs / "99990101-000000-live"
    shutil.copytree(whole, folder, ignore=shutil.ignore_patterns("metrics.json", "epochs.jsonl", "events.jsonl"))
    (folder / "manifest.jsonl").unlink()
    record = Record(folder)
    try:
        with record.lock():
            browser.open(address + "runs/" + folder.name)
            assert "training epoch 0 of 4" in browser.one("#state").text
            rows = api.load_run(whole.name, runs).epochs
            for row in rows:
                facts = {
                    "epoch": int(row["epoch"]),
                    "total": 4,
                    "row": row,
                    "seconds": 60.0,
                    "times": {"train_seconds": 60.0, "images": 150},
                }
                Journal(folder).hear(Event("epoch", facts))
                told = f"epoch {row['epoch']:.0f} of 4"
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

"""The ledger as one page."""

from replab.web import ledger


def test_the_ledger_is_written_as_one_page(replab, tmp_path, browser):
    code, out, _ = replab("ledger", "--html", tmp_path / "ledger.html", "--results", tmp_path / "none")
    assert code == 0
    assert "ledger.html" in out
    browser.offline(True)
    browser.open((tmp_path / "ledger.html").as_uri())
    browser.offline(False)
    shown = ledger.ledger(tmp_path / "none")
    assert len(browser.all("table.ledger tbody tr")) == len(shown["rows"])
    assert len(browser.all(".dots")) == sum(row["away"] is not None for row in shown["rows"])
    opened = browser.one("button[data-row]")
    opened.click()
    first = shown["data"]["rows"][0]
    assert browser.one("#row a").get_attribute("href") == first["url"]
    assert first["command"] in browser.one("#row").text
    browser.one("#row form button").click()
    browser.click("table.ledger thead th:nth-child(7) button")
    verdicts = [cell.text for cell in browser.all("table.ledger td:nth-child(7) strong")]
    assert verdicts == sorted(verdicts, key=str.lower)


def test_away_is_in_points_or_in_per_cent_of_what_was_published():
    line = {"published": 90.0, "measured": 89.0, "unit": "%", "margin": 1.0, "spread": 0.5}
    assert ledger.away(line) == {"by": -1.0, "spread": 0.5, "margin": 1.0}
    assert ledger.away({**line, "published": 2.0, "measured": 2.1, "unit": "", "spread": None})["by"] > 4.9
    assert ledger.away({**line, "published": "about 90"}) is None
    assert ledger.away({**line, "measured": None}) is None


def test_a_row_leads_to_its_runs(tmp_path, a_run):
    from replab.replication.entry import identity

    made = ledger.runs_by_identity([a_run.record])
    assert made == {identity(a_run.recipe): [a_run.id]}
    (a_run.folder / "recipe.toml").write_text("spoilt")
    assert ledger.runs_by_identity([type(a_run.record)(a_run.folder)]) == {}
    for row in ledger.ledger(tmp_path / "none")["data"]["rows"]:
        assert row["source"]
        assert row["recipe"]

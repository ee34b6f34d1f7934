"""A run started, stopped and resumed from the form, in a real browser; and what the form means."""

import re

import pytest
from serving import served

from replab import preflight
from replab.errors import ReplabError
from replab.records.record import Record
from replab.settings.recipe import usual_settings
from replab.web import forms
from replab.web.jobs import Jobs


def epoch(browser) -> int:
    found = re.search(r"epoch (\d+) of", browser.one("#state").text)
    return int(found[1]) if found else 0


def test_start_stop_and_resume(browser, tmp_path):
    address, token = served(tmp_path)
    browser.open(f"{address}start?token={token}")
    browser.one("select[name=model] option[value=mlp]").click()
    for key, text in {"lr": "1e-3", "epochs": "100000", "limit": "60", "batch_size": "much"}.items():
        browser.one(f"[name={key}]").send_keys(text)
    assert not browser.one("#go").is_enabled()
    browser.click("#cost")
    browser.wait(lambda: "batch_size must be a whole number, got 'much'" in browser.one("#start-fault").text)
    assert ["409" in text for text in browser.complaints()] == [True]
    browser.one("[name=batch_size]").clear()
    browser.one("[name=batch_size]").send_keys("2")  # 30 steps per epoch: there is not much to draw
    browser.click("#cost")
    browser.wait(lambda: browser.one("#start-status").text.startswith("cost: "), 120)
    assert browser.one("#start-command").text == ("replab run mlp --limit 60 --batch-size 2 --lr 0.001 --epochs 100000")
    browser.click("#go")
    try:
        browser.wait(lambda: "/runs/" in browser.driver.current_url, 120)
        run = browser.driver.current_url.rpartition("/")[2]
        assert Record(tmp_path / run).recipe().batch_size == 2
        browser.wait(lambda: epoch(browser) > 1, 30)
        browser.wait(lambda: browser.all("#act button"))
        browser.click("#act button")
        browser.wait(lambda: "stopped" in browser.one("#state").text, 60)
        reached = epoch(browser)
        browser.wait(lambda: "Resume" in browser.one("#act").text)
        browser.click("#act button")
        browser.wait(lambda: "training" in browser.one("#state").text and epoch(browser) > reached, 120)
    finally:
        browser.wait(lambda: "Stop" in browser.one("#act").text)
        browser.click("#act button")
        browser.wait(lambda: "stopped" in browser.one("#state").text, 60)


def test_every_setting_has_a_field():
    fields = {field["key"]: field for _, some in forms.groups() for field in some}
    assert fields.keys() == {s.key for s in usual_settings()} - {"model"}
    for s in usual_settings():
        if s.key != "model":
            assert fields[s.key]["help"] == s.full_help


def test_what_the_protocol_would_not_do_is_a_choice(tmp_path):
    """Every recipe has a constant schedule until a protocol says otherwise: a form that asks for one means it."""
    recipe, words = forms.wanted({"model": "cnn", "schedule": "constant", "search.trials": "20"}, str(tmp_path))
    assert (recipe.schedule, recipe.search.trials) == ("constant", 20)
    assert words[1:] == ["--schedule", "constant", "--trials", "20"]
    recipe, words = forms.wanted({"model": "cnn", "schedule": "one-cycle", "protocol": "plain"}, str(tmp_path))
    assert recipe == preflight.requested("cnn", protocol="plain")  # a field at its default is the protocol's to settle
    assert words[1:] == ["--protocol", "plain"]


def test_a_form_is_checked_as_the_command_line_is(tmp_path):
    asked = {"model": "cnn", "lr": "1e-3", "params": "dropout=0.1 channels=[8,16]", "search.prune": "no", "seed": ""}
    recipe, words = forms.wanted(asked, str(tmp_path))
    assert recipe.params == {"dropout": 0.1, "channels": [8, 16]}
    assert recipe.search.prune is False
    assert words[0] == "cnn"
    assert "--no-prune" in words
    for wrong, why in [
        ({"model": "mine.py:build"}, "no model named"), ({"model": "cnn", "lr": "-1"}, "must be above 0"),
        ({"model": "cnn", "data": "nowhere"}, "nowhere"), ({"model": "cnn", "params": "'"}, "as in a shell"),
        ({"model": "cnn", "lr": 3}, "names and texts"), (["cnn"], "names and texts"), ({"model": "--help"}, "no model"),
    ]:  # fmt: skip
        with pytest.raises(ReplabError, match=why):
            forms.wanted(wrong, str(tmp_path))


def test_the_cost_is_said_and_nothing_is_written(replab, tmp_path, monkeypatch):
    monkeypatch.setenv("REPLAB_RUNS", str(tmp_path / "runs"))
    code, out, _ = replab("cost", "mlp", "--limit", "60", "--lr", "1e-3", "--epochs", "7")
    assert code == 0
    assert out.startswith("cost: ")
    assert "(7 epochs)" in out
    assert not (tmp_path / "runs").exists()
    code, _, err = replab("cost", "mpl")
    assert code == 2
    assert "Did you mean 'mlp'" in err


def test_only_what_was_started_here_is_stopped(a_run):
    with pytest.raises(ReplabError, match="was not started here"):
        Jobs(a_run.folder.parent).stop(a_run.id)

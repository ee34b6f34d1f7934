"""How values are written on the command line."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replab.errors import RecipeError
from replab.settings.text import parse_seconds, parse_settings, parse_sweep, parse_value, write_seconds
from replab.settings.words import count


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("10m", 600), ("1.5h", 5400), ("1h30m", 5400), ("1h 30m 5s", 5405), ("2H", 7200)],
)
def test_times(text, seconds):
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "10x", "-5m", "1h,30m", "m", "5 minutes", "1e3"])
def test_what_is_not_a_time(text):
    with pytest.raises(RecipeError, match="a time is written 90s, 10m or 1h30m"):
        parse_seconds(text)


@given(st.floats(1e-12, 1e18))
def test_every_time_can_be_written(seconds):
    assert parse_seconds(write_seconds(seconds)) == seconds


def test_times_as_people_write_them():
    assert [write_seconds(s) for s in (180, 5400, 90, 0.5, 3600)] == ["3m", "1h30m", "1m30s", "0.5s", "1h"]


def test_settings_of_the_command_line():
    assert parse_settings(["channels=[16,32]", "dropout=0.5", "bn=true", "cls = False", "name=a=b", "n=3"]) == {
        "channels": [16, 32], "dropout": 0.5, "bn": True, "cls": False, "name": "a=b", "n": 3,
    }  # fmt: skip
    for wrong in ("channels", "=3", ""):
        with pytest.raises(RecipeError, match="--set takes KEY=VALUE"):
            parse_settings([wrong])


def test_a_sweep_has_one_key_with_several_values():
    assert parse_sweep(["beta=0.1,1", "latent=16"]) == ("beta", [0.1, 1], {"latent": 16})
    for wrong in (["beta=1"], ["beta=1,2", "latent=3,4"]):
        with pytest.raises(RecipeError, match=r"exactly one --set KEY=VALUE,VALUE, got [02]"):
            parse_sweep(wrong)


def test_values():
    assert parse_value("None") is None
    assert parse_value("1e-3") == 1e-3
    assert parse_value("3x3") == "3x3"
    assert math.isinf(parse_value("Infinity"))


def test_one_epoch_is_not_epochs():
    assert [count(n, "epoch") for n in (0, 1, 2, 1000)] == ["0 epochs", "1 epoch", "2 epochs", "1,000 epochs"]

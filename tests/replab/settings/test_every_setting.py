"""The contract of every declared setting: a flag, a TOML key, bounds that refuse, help, and a command that repeats."""

import dataclasses
import math

import pytest
from example_settings import another_value, with_value

from replab.errors import RecipeError
from replab.settings.choices import names
from replab.settings.recipe import Recipe, all_settings, value_of
from replab.settings.search import Search
from replab.settings.values import NUMBER, RANGE, SWITCH, TABLE, TEXT, TIME, WHOLE, WORDS

SETTINGS = all_settings()
EACH = pytest.mark.parametrize("declared", SETTINGS, ids=lambda s: s.key)


def test_every_field_is_declared():
    fields = [f.name for f in dataclasses.fields(Recipe) if f.name != "search"]
    assert [s.key for s in SETTINGS] == fields + [f"search.{f.name}" for f in dataclasses.fields(Search)]


@EACH
def test_help_group_and_flag(declared):
    assert len(declared.help) > 8
    assert declared.group
    assert declared.label
    assert declared.flag.startswith("--") or declared.name == "model"
    assert not any("\n" in text for text in (declared.help, declared.full_help, declared.advice))
    assert declared.advice
    assert sum(other.flag == declared.flag for other in SETTINGS) == 1


@EACH
def test_toml_and_back(declared):
    value = another_value(declared)
    recipe = with_value(declared, value)
    assert value_of(recipe, declared) == value
    assert Recipe.from_toml(recipe.to_toml()) == recipe


@EACH
def test_a_wrong_type_is_refused(declared):
    wrong = 3 if declared.type in (TEXT, SWITCH, WORDS, TABLE, RANGE) else "many"
    with pytest.raises(RecipeError, match=rf"^{declared.key} must be .*, got {wrong!r}"):
        with_value(declared, wrong)


@pytest.mark.parametrize("declared", [s for s in SETTINGS if s.type in (WHOLE, NUMBER, TIME)], ids=lambda s: s.key)
def test_bounds_refuse_with_rule_value_and_way_out(declared):
    assert declared.at_least is not None or declared.above is not None, "every number has a lower bound"
    step = 1 if declared.type is WHOLE else 1e-9
    outside = [
        bound
        for bound in (
            declared.above,
            declared.below,
            declared.at_least is not None and declared.at_least - step,
            declared.at_most is not None and declared.at_most + step,
        )
        if bound is not None and bound is not False
    ]
    for value in [*outside, *([] if declared.type is WHOLE else [math.nan, math.inf])]:
        with pytest.raises(RecipeError) as caught:
            with_value(declared, value)
        rule, _, rest = str(caught.value).partition(", got ")
        assert rule == f"{declared.key} must be {declared.bounds}"
        assert rest.endswith(f"; {declared.advice}")


@pytest.mark.parametrize("declared", [s for s in SETTINGS if s.choices], ids=lambda s: s.key)
def test_an_unknown_choice_is_refused_with_the_known_ones(declared):
    listed = ", ".join(names(declared.choices)) + (" or FILE.py:FUNCTION" if declared.own else "")
    with pytest.raises(RecipeError, match=f"{declared.key} must be one of {listed}, got"):
        with_value(declared, "zzz")


@pytest.mark.parametrize("declared", [s for s in SETTINGS if s.name != "model"], ids=lambda s: s.key)
def test_the_flag_gives_the_value_back(declared):
    value = another_value(declared)
    words = declared.words(value)
    if declared.type is SWITCH:
        assert words == [declared.flag if value else declared.no_flag]
        return
    assert words[::2] == [declared.flag] * (len(words) // 2)
    assert declared.parse(words[1::2]) == value

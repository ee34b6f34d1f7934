"""Recipes: to TOML and back, to a command and back, and every way to get one wrong."""

import math
import shlex
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replab.errors import RecipeError, ReplabError
from replab.settings.recipe import Recipe, Search, derive_seed
from replab.settings.rules import BACKENDS, CHOICES, LOSSES, OPTIMIZERS, SCHEDULES
from replab.settings.text import parse_seconds, parse_settings, parse_value

text = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8)
positive = st.floats(1e-12, 1e12)
plain = st.one_of(st.booleans(), st.integers(-(10**6), 10**6), st.floats(allow_nan=False), text)
value = st.one_of(plain, st.lists(plain, max_size=3), st.dictionaries(text, plain, max_size=2))
searches = st.builds(
    Search,
    trials=st.integers(1, 99),
    max_epochs=st.integers(1, 99),
    patience=st.integers(1, 9),
    fraction=st.floats(0.01, 1),
    validation=st.floats(0.01, 0.99),
    min_validation=st.integers(1, 999),
    prune=st.booleans(),
    choose=st.sampled_from(CHOICES),
    lr=st.tuples(st.floats(1e-9, 1e-5), st.floats(1e-4, 1.0)),
    space=st.dictionaries(text, value, max_size=2),
)
recipes = st.builds(
    Recipe,
    model=text,
    params=st.dictionaries(text, value, max_size=3),
    data=text,
    size=st.none() | st.integers(1, 999),
    normalise=text,
    augment=st.lists(st.sampled_from(["flip", "crop=4", "cutout=8", "affine=10:3:0.1"]), max_size=3).map(tuple),
    limit=st.none() | st.integers(2, 10**6),
    seed=st.integers(0, 2**32 - 1),
    batch_size=st.integers(1, 4096),
    optimizer=st.sampled_from(OPTIMIZERS),
    lr=st.none() | positive,
    epochs=st.integers(1, 999),
    schedule=st.sampled_from(SCHEDULES),
    weight_decay=st.just(0.0) | positive,
    momentum=st.floats(0, 0.999),
    clip_value=st.none() | positive,
    clip_norm=st.none() | positive,
    loss=st.sampled_from(LOSSES),
    label_smoothing=st.floats(0, 0.999),
    backend=st.sampled_from(BACKENDS),
    device=st.sampled_from(["auto", "cpu", "cuda:1"]),
    budget=st.none() | positive,
    search=searches,
)


@given(recipes)
@settings(max_examples=60, deadline=None)
def test_toml_and_back(recipe):
    assert Recipe.from_toml(recipe.to_toml()) == recipe


def test_the_file_and_back(tmp_path):
    recipe = Recipe(model="net.py:build", params={"channels": [16, 32], "é": "ü"}, lr=1e-3)
    (tmp_path / "recipe.toml").write_text(recipe.to_toml(), encoding="utf-8")
    assert Recipe.read(tmp_path / "recipe.toml") == recipe


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("lerning_rate = 1", "no recipe key named 'lerning_rate'"),
        ("epoch = 3", "Did you mean 'epochs'?"),
        ("[search]\ntrails = 3", "Did you mean 'search.trials'?"),
        ("search = 'wide'", "search must be a table"),
        ("search = 3", "search must be a table"),
        ("lr = -1", "lr must be above 0, got -1.0; 1e-3 is a common start"),
        ("lr = 0", "lr must be above 0"),
        ("lr = nan", "lr must be above 0, got nan"),
        ("lr = inf", "lr must be above 0, got inf"),
        ("lr = 'fast'", "lr must be .*float.*, got 'fast'"),
        ("lr = true", "lr must be .*float.*, got True"),
        ("epochs = 0", "epochs must be at least 1, got 0"),
        ("epochs = 2.5", "epochs must be .*int.*, got 2.5"),
        ("batch_size = 0", "batch_size must be at least 1"),
        ("weight_decay = -0.1", "weight_decay must not be negative"),
        ("weight_decay = inf", "weight_decay must not be negative"),
        ("momentum = 1.0", "momentum must be from 0 to below 1"),
        ("clip_value = 0", "clip_value must be above 0"),
        ("clip_norm = -1", "clip_norm must be above 0"),
        ("label_smoothing = 1", "label_smoothing must be from 0 to below 1"),
        ("optimizer = 'lion'", "optimizer must be one of adam, adamw, sgd, got 'lion'"),
        ("schedule = 'linear'", "schedule must be one of constant, one-cycle, cosine"),
        ("schedule = 'one-cycle'", "one-cycle needs to know its length, .*give --epochs"),
        ("loss = 'hinge'", "loss must be one of cross-entropy, squared-error"),
        ("backend = 'jax'", "backend must be one of torch, mytorch"),
        ("size = 0", "size must be at least 1"),
        ("limit = 1", "limit must be at least 2"),
        ("seed = -1", "seed must be from 0"),
        ("seed = 4294967296", "seed must be from 0"),
        ("budget = 0", "budget must be above 0 seconds"),
        ("model = 3", "model must be str, got 3"),
        ("augment = [1]", "augment must be"),
        ("params = 3", "params must be"),
        ("[search]\ntrials = 0", "search.trials must be at least 1"),
        ("[search]\nmax_epochs = 0", "search.max_epochs must be at least 1"),
        ("[search]\npatience = 0", "search.patience must be at least 1"),
        ("[search]\nfraction = 0", "search.fraction must be above 0"),
        ("[search]\nfraction = 1.1", "search.fraction must be above 0 and at most 1"),
        ("[search]\nvalidation = 1", "search.validation must be above 0 and below 1"),
        ("[search]\nmin_validation = 0", "search.min_validation must be at least 1"),
        ("[search]\nlr = [1e-2, 1e-4]", "search.lr must be .low, high. with 0 < low < high, got .0.01, 0.0001."),
        ("[search]\nlr = [0.1]", "search.lr must be"),
        ("[search]\nprune = 1", "search.prune must be bool, got 1"),
        ("[search]\nchoose = 'luck'", "search.choose must be one of"),
        ("lr = 1e", "recipe is not valid TOML"),
        ("when = 2020-01-01", "no recipe key named 'when'"),
        ("[params]\nwhen = 2020-01-01", "params.when must be a number, text"),
    ],
)
def test_refused(toml, says):
    with pytest.raises(ReplabError, match=says) as caught:
        Recipe.from_toml(toml)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [None, [None], {"a": None}, len])
def test_params_that_could_not_be_read_back_are_refused(value):
    with pytest.raises(RecipeError, match=r"params.x"):
        Recipe().replace(params={"x": value})


def test_reading_what_is_not_there_or_not_text(tmp_path):
    with pytest.raises(RecipeError, match=r"cannot read the recipe .*none.toml: No such file"):
        Recipe.read(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\0")
    with pytest.raises(RecipeError, match=r"cannot read the recipe .*binary.toml"):
        Recipe.read(tmp_path / "binary.toml")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("10m", 600), ("1.5h", 5400), ("1h30m", 5400), ("1h 30m 5s", 5405), ("2H", 7200)],
)
def test_times(text, seconds):
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "10x", "-5m", "1h,30m", "m", "5 minutes", "1e3"])
def test_what_is_no_time(text):
    with pytest.raises(RecipeError, match="a time is written 90s, 10m or 1h30m"):
        parse_seconds(text)


def test_settings_of_the_command_line():
    assert parse_settings(["channels=[16,32]", "dropout=0.5", "bn=true", "cls = False", "name=a=b", "n=3"]) == {
        "channels": [16, 32], "dropout": 0.5, "bn": True, "cls": False, "name": "a=b", "n": 3,
    }  # fmt: skip
    for wrong in ("channels", "=3", ""):
        with pytest.raises(RecipeError, match="--set takes key=value"):
            parse_settings([wrong])


def said_again(command: str, monkeypatch) -> Recipe:
    """The recipe that the command line makes of a command."""
    import typer.main

    from replab import api
    from replab.cli import app

    kept = []

    class Stop(Exception):
        pass

    def prepare(recipe, model=None, *_):
        kept.append(recipe)
        raise Stop

    monkeypatch.setattr(api.setup, "prepare", prepare)
    program, *words = shlex.split(command)
    assert program == "replab"
    with pytest.raises(Stop):
        typer.main.get_command(app)(words, standalone_mode=False)
    return kept[0]


@given(recipe=recipes, plain_search=st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_command_gives_the_same_recipe(recipe, plain_search, tmp_path_factory):
    if plain_search:
        recipe = recipe.replace(search=Search(trials=recipe.search.trials))
    if recipe.model.startswith("-"):
        recipe = recipe.replace(model="cnn")  # no file or model is named like a flag
    if recipe.data.startswith("-"):
        recipe = recipe.replace(data="digits")
    if recipe.normalise.startswith("-"):
        recipe = recipe.replace(normalise="half")
    params = {k: v for k, v in recipe.params.items() if k == k.strip() and "=" not in k and not k.startswith("-")}
    recipe = recipe.replace(params=params)
    file = tmp_path_factory.mktemp("recipe") / "recipe.toml"
    file.write_text(recipe.to_toml(), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        assert said_again(recipe.command(file), patch) == recipe


def test_a_short_command_for_a_plain_recipe():
    recipe = Recipe(model="mlp", params={"widths": [16]}, data="mnist", lr=0.001, epochs=3, augment=("flip", "crop=4"))
    said = recipe.command(Path("r.toml"))
    assert said == "replab run mlp --data mnist --augment flip,crop=4 --lr 0.001 --epochs 3 --set 'widths=[16]'"


def test_fast_keeps_what_was_given():
    fast = Recipe(lr=0.1, epochs=7, schedule="cosine", limit=50, search=Search(lr=(0.1, 0.2))).fast()
    assert (fast.lr, fast.epochs, fast.limit, fast.schedule) == (0.1, 1, 50, "cosine")
    assert (fast.search.trials, fast.search.max_epochs, fast.search.lr) == (1, 1, (0.1, 0.2))
    assert Recipe().fast().epochs is None


def test_derived_seeds_differ():
    seeds = {derive_seed(seed, *parts) for seed in (0, 1, 3407) for parts in [(), (1,), (2,), (1, 1), (2, 1), (1, 2)]}
    assert len(seeds) == 3 * 6
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert derive_seed(3407, 1, 2) == derive_seed(3407, 1, 2)


def test_values_of_the_command_line():
    assert parse_value("None") is None
    assert parse_value("1e-3") == 1e-3
    assert parse_value("3x3") == "3x3"
    assert math.isinf(parse_value("Infinity"))

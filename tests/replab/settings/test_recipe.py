"""Recipes: to TOML and back, old files, rules between settings, and every way to get a file wrong."""

import tomllib
from pathlib import Path

import pytest
from example_settings import recipes
from hypothesis import given, settings

from replab.errors import RecipeError, ReplabError
from replab.settings import recipe_file
from replab.settings.recipe import Recipe, derive_seed
from replab.settings.recipe_file import FORMAT
from replab.settings.search import Search

OLD_RUNS = Path(__file__).parents[1] / "fixtures" / "runs-0.1.0"


@given(recipes)
@settings(max_examples=60, deadline=None)
def test_toml_and_back(recipe):
    assert Recipe.from_toml(recipe.to_toml()) == recipe


def test_the_file_and_back(tmp_path):
    recipe = Recipe(model="net.py:build", params={"channels": [16, 32], "é": "ü"}, lr=1e-3)
    (tmp_path / "recipe.toml").write_text(recipe.to_toml(), encoding="utf-8")
    assert Recipe.read(tmp_path / "recipe.toml") == recipe


# -- format versions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", sorted(OLD_RUNS.glob("*/*.toml")), ids=lambda f: f"{f.parent.name}-{f.name}")
def test_recipes_of_version_0_1_0_load_and_keep_their_values(file):
    import tomllib

    old, new = tomllib.loads(file.read_text()), tomllib.loads(Recipe.read(file).to_toml())
    assert new.pop("format") == FORMAT
    assert "format" not in old
    before = tomllib.loads(Recipe.from_toml("").to_toml())  # settings that came later are at what was done then
    search = {**before.pop("search"), **old.pop("search")}
    assert (search["batch"], search["threads"], search["method"], before["protocol"]) == (1, 0, "tpe", "plain")
    old["distance"] = old.pop("metric")  # as it was called
    assert new == {**{key: value for key, value in before.items() if key in new}, **old, "search": search}


def test_a_recipe_without_batches_is_searched_as_it_was():
    for text in ("", "format = 1", "format = 2", "format = 2\n[search]\ntrials = 3"):
        search = Recipe.from_toml(text).search
        assert (search.batch, search.threads) == (1, 0)
    new = Recipe.from_toml(f"format = {FORMAT}").search
    assert new == Search()
    assert (new.batch, new.threads) == (4, 1)
    assert Recipe.from_toml("format = 2\n[search]\nbatch = 3").search.batch == 3


def test_a_newer_format_is_refused_in_one_line():
    with pytest.raises(
        RecipeError, match=rf"^r.toml, line 1: format must be from 1 to {FORMAT}, got 99; a newer replab"
    ):
        Recipe.from_toml("format = 99\nunheard_of = 3", "r.toml")
    with pytest.raises(RecipeError, match="got 'two'"):
        Recipe.from_toml("format = 'two'")


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("lerning_rate = 1", "no recipe key named 'lerning_rate'"),
        ("epoch = 3", "Did you mean 'epochs'?"),
        ("[search]\ntrails = 3", "Did you mean 'search.trials'?"),
        ("search = 'wide'", "search must be a table"),
        ("search = 3", "search must be a table"),
        ("lr = nan", "lr must be above 0, got nan; 1e-3 is a common start"),
        ("lr = inf", "lr must be above 0, got inf"),
        ("lr = 'fast'", "lr must be a number, got 'fast'"),
        ("lr = true", "lr must be a number, got True"),
        ("epochs = 2.5", "epochs must be a whole number, got 2.5"),
        (
            "optimizer = 'adm'",
            "optimizer must be one of .* or FILE.py:FUNCTION, got 'adm'; did you mean 'adam'?",
        ),
        ("augment = ['crop=4', 'flp']", "augment must be one of .*, got 'flp'; did you mean 'flip'?"),
        ("augment = [1]", "augment must be a list of words"),
        ("schedule = 'one-cycle'", "--schedule one-cycle needs to know its length, got no epochs; give --epochs"),
        ("normalise = 'often'", "normalise must be dataset, half, .*, got 'often'; the default is dataset"),
        ("budget = 0", "budget must be above 0 seconds"),
        ("model = 3", "model must be text, got 3"),
        ("params = 3", "params must be a table"),
        ("[search]\nlr = [1e-2, 1e-4]", r"search.lr must be \[low, high\] with 0 < low < high, got \[0.01, 0.0001\]"),
        ("[search]\nlr = [0.1]", "search.lr must be two numbers"),
        ("[search]\nprune = 1", "search.prune must be true or false, got 1"),
        ("lr = 1e", "the recipe is not valid TOML: .*line 1"),
        ("when = 2020-01-01", "no recipe key named 'when'"),
        ("[params]\nwhen = 2020-01-01", "params.when must be a number, text"),
        ("augmented_copy = 'flip'", "--augmented-copy cannot be combined with a search"),
        ("pretrained = true\nweights = 'a.pth'", "--pretrained and --weights cannot be combined"),
        ("freeze = true\nfreeze_until = 'layer3'", "--freeze and --freeze-until cannot be combined"),
        ("freeze = true\nunfreeze_every = 2", "--unfreeze-every cannot be combined with --freeze"),
        ("freeze = true\nlr_backbone = 0.1", "--lr-backbone needs a backbone that is trained"),
        ("mup = true\noptimizer = 'sgd'", "--mup needs Adam, got --optimizer sgd; use --optimizer adam"),
        ("head = 'knn'\naugment = ['flip']", "--head knn is fitted on .*, got no --freeze, --augment; give --freeze"),
        ("backend = 'mytorch'\nmup = true", "mytorch does not support --mup; use --backend torch"),
    ],
)
def test_refused(toml, message):
    with pytest.raises(ReplabError, match=message) as caught:
        Recipe.from_toml(toml)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("toml", ["lr = -1", "epoch = 3", "lr = ", "[search]\ntrials = 0"])
def test_a_bad_recipe_names_its_file(tmp_path, toml):
    file = tmp_path / "r.toml"
    file.write_text(toml)
    with pytest.raises(RecipeError, match=rf"^{file}"):
        Recipe.read(file)


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


# -- what a recipe gives ---------------------------------------------------------------------------------------------


def test_a_short_command_for_a_plain_recipe():
    recipe = Recipe(model="mlp", params={"widths": [16]}, data="mnist", lr=0.001, epochs=3, augment=("flip", "crop=4"))
    assert recipe.replace(budget=180).command(Path("r.toml")) == (
        "replab run mlp --protocol plain --set 'widths=[16]' --data mnist --augment flip,crop=4 --lr 0.001 --epochs 3"
        " --budget 3m"
    )


def test_the_command_names_the_file_for_what_no_flag_can_express():
    assert Recipe(params={"a=b": 1}).command(Path("r.toml")) == "replab run --recipe r.toml"
    assert Recipe(classes=("salt, pepper", "tea")).command(Path("r.toml")) == "replab run --recipe r.toml"


def test_fast_keeps_what_was_given():
    fast = Recipe(lr=0.1, epochs=7, schedule="cosine", limit=50, search=Search(lr=(0.1, 0.2))).fast()
    assert (fast.lr, fast.epochs, fast.limit, fast.schedule) == (0.1, 1, 50, "cosine")
    assert (fast.search.trials, fast.search.max_epochs, fast.search.lr) == (1, 1, (0.1, 0.2))
    assert Recipe().fast().epochs is None


def test_described_says_what_is_not_the_default():
    recipe = Recipe(lr=1e-3, per_class=20, freeze=True, budget=5400, search=Search(trials=3))
    assert recipe.described() == [
        ("training images per class", "20 images"), ("learning rate", "0.001"), ("freeze", "yes"),
        ("budget", "1h30m"), ("search trials", "3"),
    ]  # fmt: skip


def test_derived_seeds_differ():
    seeds = {derive_seed(seed, *parts) for seed in (0, 1, 3407) for parts in [(), (1,), (2,), (1, 1), (2, 1), (1, 2)]}
    assert len(seeds) == 3 * 6
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert derive_seed(3407, 1, 2) == derive_seed(3407, 1, 2)


@pytest.mark.parametrize(
    ("toml", "line"),
    [
        ("model = 'mlp'\n\nlr = -1", 3),
        ("model = 'mlp'\n[search]\ntrials = 'x'", 3),
        ("lr = 1e-3\n[search]\n# a remark\nlr = [3, 2]", 4),
        ("schedul = 'cosine'", 1),
        ("seed = 1\nschedule = 'cosine'", 2),
        ("seed = 1\n[search]\nbogus = 2", 3),
        ("seed = 1\nlr = = 2\nseed = 2", 2),
    ],
)
def test_a_bad_value_is_found_by_its_line(tmp_path, toml, line):
    (tmp_path / "bad.toml").write_text(toml)
    with pytest.raises(ReplabError, match=rf"bad\.toml.*line {line}\b"):
        Recipe.read(tmp_path / "bad.toml")


TOMLS = sorted(Path(__file__).parents[3].glob("src/replab/**/*.toml"))
TOMLS += sorted((Path(__file__).parents[1] / "fixtures").rglob("*.toml"))


@pytest.mark.parametrize("path", TOMLS, ids=lambda path: path.name)
def test_a_file_parsed_by_statements_is_what_toml_means(path):
    assert recipe_file.loads(path.read_text()) == tomllib.loads(path.read_text())


@pytest.mark.parametrize(
    "text",
    [
        "a = 1\na = 2", "[t]\n[t]", "a.b = 1\na.c = 2", "[a]\nb = 1\n[a.c]\nd = 2", 'a = """\nb = 1\n"""',
        "a = [\n1,\n2,\n]", "a = [\n  [1],\n]", "a = [\n1,", "a", "a = ", "[[t]]\na = 1", "a = {b = 1}",
        "# only\n", "", "a = 1 # [", "a = '''\n]\n'''", "a = [\n]\n]", '"a b" = 1', "a = 1979-05-27", "  a = 1",
        "a = [1,\n2]", "[t]\na=1\n[ t ]\n", "a = 1\nb = [ # [\n]", "a = 1\rb = 2", "a = 1\r\nb = 2\r\n",
        "t = 1\n[t]", "a = '\u2028'\nb = 2",
    ],
)  # fmt: skip
def test_odd_files_mean_what_toml_means(text):
    def either(parse):
        try:
            return parse(text)
        except ValueError as error:
            return str(error)

    first = either(recipe_file.loads)
    assert first == either(tomllib.loads)
    if isinstance(first, dict) and isinstance(first.get("a"), list):
        first["a"].append("changed")  # what is parsed once is nobody's to change
    assert either(recipe_file.loads) == either(tomllib.loads)

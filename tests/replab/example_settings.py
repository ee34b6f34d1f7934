"""Values of settings for tests: another value of each, and recipes of any values."""

from hypothesis import strategies as st

from replab.settings.choices import BACKENDS, CHOOSE, LOSSES, OPTIMIZERS, PROTOCOLS, SCHEDULES, names
from replab.settings.recipe import Recipe
from replab.settings.search import Search
from replab.settings.values import NUMBER, RANGE, SWITCH, TABLE, TEXT, TIME, WHOLE, WORDS

SPECIAL = {"normalise": "half", "device": "cuda:1", "search.lr": (1e-4, 1e-2)}
ALSO = {  # what a value needs beside it
    "schedule": {"epochs": 2}, "augmented_copy": {"lr": 1e-3, "epochs": 2}, "head": {"freeze": True},
    "stop_after": {"epochs": 4}, "average_decay": {"average": "ema"},
    "fit": {"size": 8}, "search.method": {"epochs": 2},
}  # fmt: skip


def another_value(declared):
    """A value of the setting that is allowed and is not the default."""
    if declared.key in SPECIAL:
        return SPECIAL[declared.key]
    if declared.choices:
        name = next(name for name in names(declared.choices) if name != declared.default)
        return (name,) if declared.type is WORDS else name
    if declared.type in (NUMBER, TIME):
        return 0.75
    return {WHOLE: 3, TEXT: "other", WORDS: ("a", "b"), TABLE: {"a": [1, "b"]}, RANGE: (0.1, 0.2),
            SWITCH: not declared.default}[declared.type]  # fmt: skip


def with_value(declared, value):
    if declared.key == "protocol" and value in PROTOCOLS:
        return Recipe.of_protocol(value)
    table = {"search": {declared.name: value}} if declared.key.startswith("search.") else {declared.name: value}
    return Recipe().replace(**ALSO.get(declared.key, {}), **table)


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
    choose=st.sampled_from(CHOOSE),
    lr=st.tuples(st.floats(1e-9, 1e-5), st.floats(1e-4, 1.0)),
    space=st.dictionaries(text, value, max_size=2),
)
recipes = st.builds(
    Recipe,
    model=text,
    params=st.dictionaries(text, value, max_size=3),
    data=text,
    size=st.none() | st.integers(1, 999),
    normalise=st.sampled_from(["dataset", "half", "none", "-0.5,0.5/1,2"]),
    augment=st.lists(st.sampled_from(["flip", "crop=4", "cutout=8", "affine=10:3:0.1"]), max_size=3).map(tuple),
    limit=st.none() | st.integers(2, 10**6),
    seed=st.integers(0, 2**32 - 1),
    batch_size=st.integers(1, 4096),
    optimizer=st.sampled_from(names(OPTIMIZERS)),
    lr=st.none() | positive,
    epochs=st.integers(1, 999),
    schedule=st.sampled_from(names(SCHEDULES)),
    weight_decay=st.just(0.0) | positive,
    momentum=st.floats(0, 0.999),
    clip_value=st.none() | positive,
    clip_norm=st.none() | positive,
    loss=st.sampled_from(names(LOSSES)),
    label_smoothing=st.floats(0, 0.999),
    backend=st.sampled_from(BACKENDS),
    device=st.sampled_from(["auto", "cpu", "cuda:1"]),
    budget=st.none() | positive,
    search=searches,
)

"""Recipe: everything that decides a run, as one frozen value. TOML in and out; bad keys and values are refused."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

from replab.errors import RecipeError, UnknownName
from replab.settings.rules import backbone_rules, rules, search_rules
from replab.settings.text import parse_value, toml, toml_key


@dataclass(frozen=True)
class Search:
    """How hyperparameters are found. The defaults are the notes' protocol, with pruning and a TPE that models."""

    trials: int = 20
    max_epochs: int = 50
    patience: int = 5  # epochs without a better validation loss before a trial stops
    fraction: float = 0.2  # of the training images, for train and validation together
    validation: float = 0.2  # of those
    min_validation: int = 300  # on small sets the fractions give way until validation has this many images
    prune: bool = True
    choose: str = "one-standard-error"  # a small rate of those within one s.e. of the best loss; or best
    lr: tuple[float, float] = (math.exp(-10), math.exp(-4))  # log-uniform
    space: Mapping[str, Any] = field(default_factory=dict)  # further keys: [low, high] or a list of choices


@dataclass(frozen=True)
class Recipe:
    """One run. `lr` and `epochs` left open (None) are searched for."""

    model: str = "cnn"  # a registered name, or file.py:function
    params: Mapping[str, Any] = field(default_factory=dict)  # the builder's own
    task: str = "auto"  # auto: what the model says, else classify
    data: str = "digits"  # a registered name, a folder or a zip
    size: int | None = None
    normalise: str = "dataset"  # dataset, half, none, computed, or m1,m2,m3/s1,s2,s3
    augment: tuple[str, ...] = ()
    augmented_copy: str = ""  # train on one fixed augmented copy of each image too: affine=10:3:0.1
    limit: int | None = None  # at most this many training images, and as many test images
    classes: tuple[str, ...] = ()  # these classes alone, by name or place
    per_class: int | None = None  # at most this many training images of each class; test images stay all
    seed: int = 3407
    batch_size: int = 128
    optimizer: str = "adam"
    lr: float | None = None
    epochs: int | None = None
    schedule: str = "constant"
    weight_decay: float = 0.0
    momentum: float = 0.0  # SGD's
    clip_value: float | None = None
    clip_norm: float | None = None
    loss: str = "cross-entropy"  # or squared-error, on one-hot targets
    label_smoothing: float = 0.0
    pretrained: bool = False  # begin with published ImageNet weights
    weights: str = ""  # or with those of a file or of an earlier run
    freeze: bool = False  # train the head alone
    freeze_until: str = ""  # or this layer and what follows it
    unfreeze_every: int | None = None  # the head first, then a stage more every so many epochs, backwards
    lr_backbone: float | None = None  # another rate for all but the head
    head: str = "linear"  # mlp, logistic or knn
    neighbours: int | None = None  # knn's k; None: searched
    metric: str = "cosine"  # knn's, or euclidean
    feature_cache: bool = True  # a frozen backbone sees each image once
    mup: bool = False  # the learning rate means the same at every width (Adam)
    base_width: int = 64  # where it is the standard model
    backend: str = "torch"
    device: str = "auto"
    budget: float | None = None  # seconds for search and training together
    search: Search = field(default_factory=Search)

    def __post_init__(self) -> None:
        for rule, value, ok, way_out in [*rules(self), *search_rules(self.search), *backbone_rules(self)]:
            if not ok:
                raise RecipeError(f"{rule}, got {value!r}; {way_out}")

    def replace(self, **changes: Any) -> Recipe:
        """A copy with some fields changed; `search` fields may be given as a mapping."""
        known = {f.name for f in dataclasses.fields(self)}
        for key in changes:
            if key not in known:
                raise UnknownName("recipe key", key, known, "known: " + ", ".join(sorted(known)))
        if isinstance(changes.get("search"), Mapping):
            changes["search"] = _build(Search, {**dataclasses.asdict(self.search), **changes["search"]}, "search.")
        return _build(Recipe, {**{f.name: getattr(self, f.name) for f in dataclasses.fields(self)}, **changes}, "")

    def fast(self) -> Recipe:
        """The same run, tiny: one trial, one epoch, few images, through every stage."""
        search = {"trials": 1, "max_epochs": 1, "fraction": 1.0, "min_validation": 20}
        return self.replace(limit=min(self.limit or 400, 400), epochs=1 if self.epochs else None, search=search)

    def command(self, file: Path) -> str:
        """The command that runs this recipe again: by flags where there are flags for all of it, else by its file."""
        default, by_file = Recipe(), shlex.join(["replab", "run", "--recipe", str(file)])
        words = ["replab", "run", self.model]
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if f.name in ("model", "params", "search") or value == getattr(default, f.name):
                continue
            text = ",".join(value) if isinstance(value, tuple) else str(value)
            if f.name == "task" or (f.name == "budget" and (not re.fullmatch(r"[\d.]+", text))):
                return by_file
            flag = f.name.replace("_", "-")
            words += [f"--{flag}" if value else f"--no-{flag}"] if isinstance(value, bool) else [f"--{flag}", text]
        for key, value in self.params.items():
            as_is = isinstance(value, str) and parse_value(value) == value
            words += ["--set", f"{key}={value if as_is else json.dumps(value)}"]
        if self.search.trials != default.search.trials:
            words += ["--trials", str(self.search.trials)]
        if dataclasses.replace(self.search, trials=default.search.trials) != default.search:
            return by_file
        return shlex.join(words)

    def to_toml(self) -> str:
        values = dataclasses.asdict(self)
        search = values.pop("search")
        tables = {"params": values.pop("params"), "search.space": search.pop("space")}
        lines = [f"{key} = {toml(value)}" for key, value in values.items() if value is not None]
        for name, table in (
            ("params", tables["params"]),
            ("search", search),
            ("search.space", tables["search.space"]),
        ):
            if table:
                lines += ["", f"[{name}]", *(f"{toml_key(k)} = {toml(v)}" for k, v in table.items())]
        return "\n".join(lines) + "\n"

    @classmethod
    def from_toml(cls, text: str, where: str = "recipe") -> Recipe:
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise RecipeError(f"{where} is not valid TOML: {error}") from None
        return cls.from_dict(values)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Recipe:
        return cls().replace(**values)

    @classmethod
    def read(cls, path: str | Path) -> Recipe:
        try:
            return cls.from_toml(Path(path).read_text(), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise RecipeError(f"cannot read the recipe {path}: {getattr(error, 'strerror', None) or error}") from None


def derive_seed(seed: int, *parts: int) -> int:
    """An independent 63-bit seed for (seed, parts): each epoch and trial has its own, whatever came before."""
    import numpy as np

    return int(np.random.SeedSequence([seed, *parts]).generate_state(1, np.uint64)[0] >> 1)


def _build(cls: type, values: Mapping[str, Any], prefix: str) -> Any:
    """cls(**values) with each value brought to its field's type, or a RecipeError that names the key."""
    hints = get_type_hints(cls)
    known = {f.name for f in dataclasses.fields(cls)}
    for key in values:
        if key not in known:
            raise UnknownName(
                "recipe key", prefix + key, {prefix + k for k in known}, "known: " + ", ".join(sorted(known))
            )
    return cls(**{key: _coerce(value, hints[key], prefix + key) for key, value in values.items()})


def _coerce(value: Any, hint: Any, key: str) -> Any:
    """TOML and JSON have no tuples, and write 1 for 1.0: only those two liberties are taken."""
    text = str(hint)
    if isinstance(value, Search) or (value is None and "None" in text):
        return value
    if hint is Search:
        raise RecipeError(f"{key} must be a table of its own, [search], got {value!r}")
    if "tuple" in text:
        values = value.split(",") if isinstance(value, str) else value
        if isinstance(values, (list, tuple)):
            kind = float if "float" in text else str
            if all(isinstance(v, (int, float)) if kind is float else isinstance(v, str) for v in values):
                result = tuple(kind(v) for v in values if v != "")
                if kind is str or len(result) == 2:
                    return result
    elif "Mapping" in text:
        if isinstance(value, Mapping):
            for name, inner in value.items():
                _refuse_unwritable(inner, f"{key}.{name}")
            return dict(value)
    elif "float" in text or hint is float:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
    elif "bool" in text or hint is bool:
        if isinstance(value, bool):
            return value
    elif "int" in text or hint is int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    elif isinstance(value, str):
        return value
    wanted = getattr(hint, "__name__", text).replace("collections.abc.", "") if not isinstance(hint, str) else hint
    raise RecipeError(f"{key} must be {text if '[' in text or '|' in text else wanted}, got {value!r}")


def _refuse_unwritable(value: Any, key: str) -> None:
    """What TOML has no word for could not be read back."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            _refuse_unwritable(inner, f"{key}.{name}")
    elif isinstance(value, (list, tuple)):
        for inner in value:
            _refuse_unwritable(inner, key)
    elif not isinstance(value, (bool, int, float, str)):
        raise RecipeError(f"{key} must be a number, text, true, false or a list of them, got {value!r}; leave it out")

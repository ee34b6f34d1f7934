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
from replab.recipe_text import parse_value, toml, toml_key

OPTIMIZERS = ("adam", "adamw", "sgd")
SCHEDULES = ("constant", "one-cycle", "cosine")
CHOICES = ("one-standard-error", "best")
LOSSES = ("cross-entropy", "squared-error")
BACKENDS = ("torch", "mytorch")
FITTED_HEADS = ("logistic", "knn")  # at once, on features
HEADS = ("linear", "mlp", *FITTED_HEADS)
METRICS = ("cosine", "euclidean")
TORCH_ONLY = ("pretrained", "weights", "freeze", "freeze_until", "unfreeze_every", "lr_backbone", "head", "mup")


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
        for rule, value, ok, way_out in [*self._rules(), *self._pretrained_rules()]:
            if not ok:
                raise RecipeError(f"{rule}, got {value!r}; {way_out}")

    def _rules(self) -> list[tuple[str, Any, bool, str]]:
        s = self.search
        low, high = s.lr
        return [
            (
                "lr must be above 0",
                self.lr,
                self.lr is None or 0 < self.lr < math.inf,
                "1e-3 is a common start",
            ),
            (
                "epochs must be at least 1",
                self.epochs,
                self.epochs is None or self.epochs >= 1,
                "leave it out to search",
            ),
            ("batch_size must be at least 1", self.batch_size, self.batch_size >= 1, "128 is the default"),
            (
                "weight_decay must not be negative",
                self.weight_decay,
                0 <= self.weight_decay < math.inf,
                "0 turns it off",
            ),
            ("momentum must be from 0 to below 1", self.momentum, 0 <= self.momentum < 1, "0.9 is common"),
            (
                "clip_value must be above 0",
                self.clip_value,
                self.clip_value is None or self.clip_value > 0,
                "leave it out for none",
            ),
            (
                "clip_norm must be above 0",
                self.clip_norm,
                self.clip_norm is None or self.clip_norm > 0,
                "leave it out for none",
            ),
            (
                "label_smoothing must be from 0 to below 1",
                self.label_smoothing,
                0 <= self.label_smoothing < 1,
                "0 is off",
            ),
            (
                "optimizer must be one of " + ", ".join(OPTIMIZERS),
                self.optimizer,
                self.optimizer in OPTIMIZERS,
                "adam is the default",
            ),
            (
                "schedule must be one of " + ", ".join(SCHEDULES),
                self.schedule,
                self.schedule in SCHEDULES,
                "constant is the default",
            ),
            (
                "loss must be one of " + ", ".join(LOSSES),
                self.loss,
                self.loss in LOSSES,
                "cross-entropy is the default",
            ),
            (
                f"{self.schedule} needs to know its length",
                "no epochs",
                self.schedule == "constant" or self.epochs is not None,
                "give --epochs",
            ),
            (
                "backend must be one of " + ", ".join(BACKENDS),
                self.backend,
                self.backend in BACKENDS,
                "torch is the default",
            ),
            (
                "size must be at least 1",
                self.size,
                self.size is None or self.size >= 1,
                "leave it out to keep the images' own",
            ),
            (
                "limit must be at least 2",
                self.limit,
                self.limit is None or self.limit >= 2,
                "leave it out for all images",
            ),
            (
                "per_class must be at least 1",
                self.per_class,
                self.per_class is None or self.per_class >= 1,
                "leave it out for all images",
            ),
            (
                "augmented_copy leaves nothing to search",  # copies of validation images would be trained on
                self.augmented_copy,
                not self.augmented_copy or (self.lr is not None and self.epochs is not None and not s.space),
                "give --lr and --epochs, or use --augment",
            ),
            ("seed must be from 0 to 2**32 - 1", self.seed, 0 <= self.seed < 2**32, "3407 is the default"),
            (
                "budget must be above 0 seconds",
                self.budget,
                self.budget is None or self.budget > 0,
                "try --budget 10m",
            ),
            ("search.trials must be at least 1", s.trials, s.trials >= 1, "20 is the default"),
            ("search.max_epochs must be at least 1", s.max_epochs, s.max_epochs >= 1, "50 is the default"),
            ("search.patience must be at least 1", s.patience, s.patience >= 1, "5 is the default"),
            (
                "search.choose must be one of " + ", ".join(CHOICES),
                s.choose,
                s.choose in CHOICES,
                "best is the notes' protocol",
            ),
            ("search.min_validation must be at least 1", s.min_validation, s.min_validation >= 1, "300 is the default"),
            (
                "search.fraction must be above 0 and at most 1",
                s.fraction,
                0 < s.fraction <= 1,
                "0.2 is the default",
            ),
            (
                "search.validation must be above 0 and below 1",
                s.validation,
                0 < s.validation < 1,
                "0.2 is the default",
            ),
            (
                "search.lr must be [low, high] with 0 < low < high",
                list(s.lr),
                0 < low < high < math.inf,
                "the default is e^-10 to e^-4",
            ),
        ]

    def _pretrained_rules(self) -> list[tuple[str, Any, bool, str]]:
        asked = [k for k in TORCH_ONLY if getattr(self, k) != Recipe.__dataclass_fields__[k].default]
        return [
            (
                "weights come from one place",
                f"--pretrained and --weights {self.weights}",
                not (self.pretrained and self.weights),
                "leave one out",
            ),
            (
                "freeze and freeze_until are two amounts of freezing",
                self.freeze_until,
                not (self.freeze and self.freeze_until),
                "leave one out",
            ),
            (
                "lr_backbone must be above 0, for a backbone that is not frozen",
                self.lr_backbone,
                self.lr_backbone is None or (0 < self.lr_backbone < math.inf and not self.freeze),
                "leave it out for one rate",
            ),
            ("base_width must be at least 1", self.base_width, self.base_width >= 1, "64 is the default"),
            (
                "mup is Adam's parametrisation",
                self.optimizer,
                not self.mup or self.optimizer in ("adam", "adamw"),
                "use --optimizer adam",
            ),
            ("head must be one of " + ", ".join(HEADS), self.head, self.head in HEADS, "linear is the default"),
            (
                f"head {self.head} is fitted on the features of a frozen backbone",
                ", ".join(
                    w
                    for w, given in [
                        ("no freeze", not self.freeze),
                        ("augment", self.augment),
                        ("no feature cache", not self.feature_cache),
                    ]
                    if given
                ),
                self.head not in FITTED_HEADS or (self.freeze and not self.augment and self.feature_cache),
                "give --freeze, without --augment and --no-feature-cache",
            ),
            (
                "neighbours must be at least 1",
                self.neighbours,
                self.neighbours is None or self.neighbours >= 1,
                "leave it out to search",
            ),
            ("metric must be one of " + ", ".join(METRICS), self.metric, self.metric in METRICS, "cosine is common"),
            (
                "unfreeze_every must be at least 1 epoch, without freeze and freeze_until",
                self.unfreeze_every,
                self.unfreeze_every is None or (self.unfreeze_every >= 1 and not self.freeze and not self.freeze_until),
                "it freezes all but the head itself",
            ),
            (
                "mytorch does without backbones and muP",
                ", ".join(asked),
                not asked or self.backend == "torch",
                "use --backend torch",
            ),
        ]

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

"""Recipe: everything that decides a run's numbers, as one frozen value; each setting is declared here, once."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from replab.errors import RecipeError, ReplabError, UnknownName
from replab.settings import choices, protocols, recipe_file
from replab.settings.command import command
from replab.settings.rules import broken_rules
from replab.settings.search import Search
from replab.settings.setting import (
    DATA,
    FINE_TUNING,
    MACHINE,
    MODEL,
    TRAINING,
    Setting,
    read_fields,
    setting,
    settings_of,
)  # fmt: skip

DEFAULT = "standard"  # the protocol of a run that names none and has no recipe file
FEW = 160  # images of a --fast run: one batch of 128 in its search, two in its training


@dataclass(frozen=True)
class Recipe:
    """One run. `lr` and `epochs` that are left open (None) are searched for."""

    model: str = setting("cnn", "a registered name, or FILE.py:FUNCTION", MODEL, flag="positional")
    params: Mapping[str, Any] = setting(dict, "a parameter of the model: channels=[16,32]", MODEL, flag="--set")
    task: str = setting("auto", "what is learned; auto asks the model", MODEL, choices=choices.TASKS)
    data: str = setting(
        "digits", "name of a data set, a folder or zip of images, an .npz or .csv file, or hf:NAME", DATA, short="-d"
    )
    size: int | None = setting(
        None, "resize the images to squares of this side", DATA, at_least=1, unit="pixels",
        way_out="leave it out to keep the size of the images",
    )  # fmt: skip
    fit: str = setting(
        "crop", "how an image that is no square becomes one: crop the centre, pad with black, or squish", DATA,
        choices=choices.FITS, label="fitted by",
    )  # fmt: skip
    skip_broken: bool = setting(False, "leave out files that cannot be read, and name them in the report", DATA)
    normalise: str = setting(
        "dataset", "how pixels are scaled", DATA, pattern=choices.NORMALISATION, form=choices.NORMALISATIONS,
        label="normalisation",
    )  # fmt: skip
    augment: tuple[str, ...] = setting(
        (), "random changes to training images: flip,crop=4,affine=10:3:0.1, or auto: what suits the data;"
        " strong: and a quarter of the side hidden", DATA,
        choices=choices.AUGMENTATIONS, own=True, label="augmentation", way_out="leave it out for none",
        searchable=True,
    )  # fmt: skip
    progressive_resize: float | None = setting(
        None, "train on smaller images at first: a side of this share, which grows to the whole", DATA,
        at_least=0.25, below=1, label="progressive resizing", way_out="0.5 is usual; leave it out for none",
    )  # fmt: skip
    tta: str = setting(
        "none", "classify test images as the mean over views: mirrored, or mirrored and shifted by a pixel", DATA,
        choices=choices.VIEWS, label="test-time augmentation", way_out="none turns it off",
    )  # fmt: skip
    augmented_copy: str = setting("", "also train on one fixed augmented copy of each image: affine=10:3:0.1", DATA)
    limit: int | None = setting(
        None, "at most this many training images, and as many test images", DATA, at_least=2, unit="images",
        way_out="leave it out for all images",
    )  # fmt: skip
    classes: tuple[str, ...] = setting((), "only these classes, by name or index: cat,dog or 0,1,2", DATA)
    per_class: int | None = setting(
        None, "at most this many training images per class; all test images stay", DATA, at_least=1, unit="images",
        label="training images per class", way_out="leave it out for all images",
    )  # fmt: skip
    seed: int = setting(3407, "decides every random draw", MACHINE, at_least=0, at_most=2**32 - 1)
    protocol: str = setting(
        "plain", "settles all that is not given (replab protocol list); the defaults in this help are standard's",
        TRAINING, choices=choices.PROTOCOLS, way_out="replab protocol list shows them",
    )  # fmt: skip
    batch_size: int = setting(128, "images per training step", TRAINING, at_least=1, searchable=True)
    accumulate: int = setting(
        1, "pieces that a batch is computed in, for want of memory; their gradients are added up", TRAINING, at_least=1
    )
    optimizer: str = setting("adam", "how weights are updated", TRAINING, choices=choices.OPTIMIZERS, own=True)
    lr: float | None = setting(
        None, "learning rate; left out: searched", TRAINING, above=0, searchable=True, label="learning rate",
        way_out="1e-3 is a common start",
    )  # fmt: skip
    epochs: int | None = setting(
        None, "passes over the training images; left out: as many as the best trial needed", TRAINING, at_least=1,
        way_out="leave it out to search",
    )  # fmt: skip
    epochs_at_10k: float | None = setting(
        None, "epochs on 10,000 images, where --epochs is not given; fewer images get more, by the cube root", TRAINING,
        above=0, label="epochs at 10,000 images", way_out="leave it out to search", searchable=True,
    )  # fmt: skip
    stop_after: int | None = setting(
        None, "stop after this many of the epochs; the schedule stays that of all of them", TRAINING, at_least=1,
        unit="epochs",
    )  # fmt: skip
    schedule: str = setting(
        "constant", "how the learning rate changes over the epochs", TRAINING, choices=choices.SCHEDULES, own=True
    )
    weight_decay: float = setting(0.0, "weight decay", TRAINING, at_least=0, searchable=True, way_out="0 turns it off")
    momentum: float = setting(
        0.0, "momentum of sgd and rmsprop", TRAINING, at_least=0, below=1, searchable=True, way_out="0.9 is common"
    )
    clip_value: float | None = setting(
        None, "clip each gradient value to this size", TRAINING, above=0, way_out="leave it out for no clipping"
    )
    clip_norm: float | None = setting(
        None, "clip the norm of the gradients to this size", TRAINING, above=0, way_out="leave it out for no clipping"
    )
    loss: str = setting(
        "cross-entropy", "what a classifier minimises; squared-error is on one-hot targets", TRAINING,
        choices=choices.LOSSES, own=True,
    )  # fmt: skip
    label_smoothing: float = setting(
        0.0, "share of a label spread over all classes", TRAINING, at_least=0, below=1, searchable=True,
        way_out="0 turns it off",
    )  # fmt: skip
    bias_rate_scale: float = setting(
        1.0, "learning rate of biases and gains, as a multiple; their weight decay per step stays", TRAINING,
        above=0, searchable=True, way_out="1 gives all the same rate",
    )  # fmt: skip
    head_rate_scale: float = setting(
        1.0, "learning rate of the last layer's weights, likewise", TRAINING, above=0, searchable=True,
        way_out="1 gives all the same rate",
    )  # fmt: skip
    average: str = setting(
        "none", "keep an average of the weights over the steps: beside the training, or fed back to it", TRAINING,
        choices=choices.AVERAGES, label="weight averaging", way_out="none turns it off",
    )  # fmt: skip
    average_decay: float | None = setting(
        None, "share of the average that each step keeps; left out: 0.999 of ema, 0.95 of lookahead", TRAINING,
        at_least=0, below=1, way_out="leave it out for the usual one",
    )  # fmt: skip
    test_curve: bool = setting(
        True, "evaluate the test images after every epoch, for the curve; without it once, at the end", TRAINING
    )
    metric: tuple[str, ...] = setting(
        (), "measure these of a classifier too, joined by commas", TRAINING, choices=choices.METRICS, own=True,
        label="metrics", way_out="leave it out for accuracy; --distance is the distance of --head knn",
    )  # fmt: skip
    pretrained: bool = setting(False, "start from published ImageNet weights", FINE_TUNING)
    weights: str = setting("", "start from these weights: a .safetensors or .pth file, or an earlier run", FINE_TUNING)
    freeze: bool = setting(False, "train only the head", FINE_TUNING)
    freeze_until: str = setting("", "freeze the layers before this one", FINE_TUNING)
    unfreeze_every: int | None = setting(
        None, "train the head first, then unfreeze one more stage, from the back, every N epochs", FINE_TUNING,
        at_least=1, unit="epochs",
    )  # fmt: skip
    lr_backbone: float | None = setting(
        None, "another learning rate for everything but the head", FINE_TUNING, above=0,
        label="learning rate of the backbone", way_out="leave it out for one rate",
    )  # fmt: skip
    head: str = setting(
        "linear", "what follows the backbone; logistic and knn are fitted without epochs", FINE_TUNING,
        choices=choices.HEADS,
    )  # fmt: skip
    neighbours: int | None = setting(
        None, "neighbours of --head knn; left out: searched", FINE_TUNING, at_least=1, searchable=True,
        way_out="leave it out to search",
    )  # fmt: skip
    distance: str = setting("cosine", "distance of --head knn", FINE_TUNING, choices=choices.DISTANCES)
    feature_cache: bool = setting(
        True, "compute the features of a frozen backbone once per image and keep them", FINE_TUNING
    )
    whiten: int | None = setting(
        None, "begin with a frozen layer that whitens the patches of this side, taken from the training images", MODEL,
        at_least=1, at_most=8, unit="pixels", label="whitened patches", way_out="2 is usual; leave it out for none",
    )  # fmt: skip
    mup: bool = setting(False, "one learning rate for all widths of mlp, cnn and nanovit", MODEL, label="muP")
    base_width: int = setting(64, "width at which --mup is the standard model", MODEL, at_least=1)
    backend: str = setting("torch", "which framework computes", MACHINE, choices=choices.BACKENDS)
    device: str = setting(
        "auto", "where to compute", MACHINE, pattern=r"auto|cpu|cuda(:\d+)?|mps", form="auto, cpu, cuda, cuda:N or mps"
    )
    compile: bool = setting(
        False, "compile a classifier with torch.compile; needs a C++ compiler and a minute at the start", MACHINE
    )
    precision: str = setting(
        "auto", "numbers that products and convolutions are computed in; auto: bfloat16 on GPUs that have it", MACHINE,
        choices=choices.PRECISIONS,
    )  # fmt: skip
    budget: float | None = setting(
        None, "time for search and training together: 10m, 1h30m", MACHINE, above=0, unit="seconds",
        way_out="try --budget 10m",
    )  # fmt: skip
    search: Search = field(default_factory=Search)

    def __post_init__(self) -> None:
        read_fields(self, settings_of(Recipe))
        if not isinstance(self.search, Search):
            raise RecipeError(f"search must be a table of its own, [search], got {self.search!r}")
        for broken in broken_rules(self):
            raise RecipeError(broken)

    def replace(self, **changes: Any) -> Recipe:
        """A copy with some fields changed. `search` may be a mapping of the fields to change."""
        _refuse_unknown(changes, Recipe, "")
        if isinstance(changes.get("search"), Mapping):
            _refuse_unknown(changes["search"], Search, "search.")
            changes["search"] = dataclasses.replace(self.search, **changes["search"])
        return dataclasses.replace(self, **changes)

    def fast(self, given: Collection[str] = ()) -> Recipe:
        """The same run, tiny: one trial, one epoch, few images, through every stage. Settings in `given` stay."""
        known = self.epochs or self.epochs_at_10k
        whole = {"limit": min(self.limit or FEW, FEW), "epochs": 1 if known else None}
        whole |= {} if "epochs" in given else {"stop_after": None}
        search: dict[str, Any] = {"trials": 1, "max_epochs": 1, "fraction": 1.0, "min_validation": 20}
        search["space"] = {key: value for key, value in self.search.space.items() if key != "epochs_at_10k"}
        return self.replace(
            **{key: value for key, value in whole.items() if key not in given},
            search={key: value for key, value in search.items() if f"search.{key}" not in given},
        )

    @property
    def last_epoch(self) -> int | None:
        """The epoch after which training ends; None where a search decides."""
        return self.stop_after or self.epochs

    def command(self, file: Path) -> str:
        """The command that runs this recipe again, by flags; `file` is named where a value cannot be a flag's."""
        return command(self, self.changed(), settings_of(Recipe), file)

    def described(self, without: Collection[str] = ()) -> list[tuple[str, str]]:
        """(label, value) of every setting that is not at its default, for reports; `without` these keys."""
        pairs = changed(self, _protocol(""))
        return [(s.label, s.text(value)) for s, value in pairs if value is not None and s.key not in without]

    def changed(self) -> list[tuple[Setting, Any]]:
        """The settings that differ from those of its protocol, with their values."""
        return changed(self, Recipe.of_protocol(self.protocol))

    def to_toml(self) -> str:
        return recipe_file.dumps(dataclasses.asdict(self))

    @classmethod
    def from_toml(cls, text: str, where: str = "") -> Recipe:
        """`where` names the file in what is refused."""
        with recipe_file.valid_toml(where):
            try:
                return cls.from_dict(recipe_file.loads(text))
            except ReplabError as error:
                line = recipe_file.line_of(text, str(error), {s.flag: s.key for s in all_settings()})
                raise (RecipeError(f"{where}{line}: {error}") if where else error) from None

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Recipe:
        """Of any format; what an older one leaves to a protocol it names is that protocol's."""
        settings, protocol = recipe_file.as_of_today(values)
        return (cls.of_protocol(protocol) if protocol else _protocol("")).replace(**settings)

    @classmethod
    def of_protocol(cls, name: str) -> Recipe:
        """What a protocol settles; it is a recipe file like any other."""
        protocols.check(name)
        return _protocol(name)

    @classmethod
    def read(cls, path: str | Path) -> Recipe:
        return cls.from_toml(recipe_file.read(path), str(path))


def all_settings() -> list[Setting]:
    """Every setting of a recipe, those of its search at the end."""
    return [*settings_of(Recipe).values(), *settings_of(Search, "search").values()]


def usual_settings() -> list[Setting]:
    """The same with the defaults of a run that names no protocol: what help and forms show."""
    usual = Recipe.of_protocol(DEFAULT)
    return [dataclasses.replace(s, default=value_of(usual, s)) for s in all_settings()]


def value_of(recipe: Recipe, declared: Setting) -> Any:
    """The recipe's value of a setting, whichever table it stands in."""
    return getattr(recipe.search if declared.key.startswith("search.") else recipe, declared.name)


@cache
def _protocol(name: str) -> Recipe:
    """Without a name every setting is at its default."""
    if not name:
        return Recipe()
    return Recipe.from_toml(protocols.text(name), name)


def changed(recipe: Recipe, base: Recipe) -> list[tuple[Setting, Any]]:
    """The settings that differ from the base's, with their values."""
    pairs = [(declared, value_of(recipe, declared)) for declared in all_settings() if declared.name != "protocol"]
    return [(declared, value) for declared, value in pairs if value != value_of(base, declared)]


def derive_seed(seed: int, *parts: int) -> int:
    """An independent 63-bit seed for (seed, parts): each epoch and trial has its own, whatever came before."""
    import numpy as np

    return int(np.random.SeedSequence([seed, *parts]).generate_state(1, np.uint64)[0] >> 1)


def _refuse_unknown(changes: Mapping[str, Any], cls: Any, prefix: str) -> None:
    known = [f.name for f in dataclasses.fields(cls)]
    for key in changes:
        if key not in known:
            way_out = "known: " + ", ".join(sorted(known))
            raise UnknownName("recipe key", prefix + key, [prefix + k for k in known], way_out)

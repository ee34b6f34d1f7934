"""Rules between settings. What a single setting may be is declared with it, in recipe.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replab.settings.choices import FITTED_HEADS

AUTO, STRONG = ("auto",), ("strong",)  # augmentation as it suits the data; with a hidden square besides
TORCH_ONLY = (
    "pretrained", "weights", "freeze", "freeze_until", "unfreeze_every", "lr_backbone", "head", "mup", "average",
    "bias_rate_scale", "head_rate_scale", "whiten", "tta", "precision", "compile",
    "progressive_resize",
)  # fmt: skip


def broken_rules(recipe: Any) -> Iterator[str]:
    """Each broken rule with the values and the way out."""
    known = recipe.epochs is not None or recipe.epochs_at_10k is not None
    if recipe.schedule != "constant" and not known:
        yield f"--schedule {recipe.schedule} needs to know its length, got no epochs; give --epochs"
    if recipe.search.method != "tpe" and not known:
        yield f"--search-method {recipe.search.method} finds no epochs, got none; give --epochs, or use tpe"
    if recipe.search.method == "range-test" and recipe.search.space:
        yield f"a range test finds the rate alone, got --search {', '.join(recipe.search.space)}; use halving or tpe"
    if recipe.stop_after is not None and (not known or recipe.stop_after > (recipe.epochs or recipe.stop_after)):
        yield (
            f"--stop-after must be at most --epochs, got {recipe.stop_after} of"
            f" {recipe.epochs or 'as many as a search finds'}; give --epochs"
        )
    if recipe.fit != "crop" and recipe.size is None:
        yield f"--fit {recipe.fit} needs the side of the squares, got no --size; give --size 64"
    searched = recipe.lr is None or not known or recipe.search.space
    if recipe.augmented_copy and searched:  # copies of validation images would be trained on
        yield (
            f"--augmented-copy cannot be combined with a search, got {recipe.augmented_copy!r};"
            " give --lr and --epochs, or use --augment"
        )
    if recipe.pretrained and recipe.weights:
        yield f"--pretrained and --weights cannot be combined, got --weights {recipe.weights}; leave one out"
    if recipe.freeze and recipe.freeze_until:
        yield f"--freeze and --freeze-until cannot be combined, got --freeze-until {recipe.freeze_until}; leave one out"
    if recipe.unfreeze_every is not None and (recipe.freeze or recipe.freeze_until):
        other = "--freeze" if recipe.freeze else f"--freeze-until {recipe.freeze_until}"
        yield f"--unfreeze-every cannot be combined with {other.split()[0]}, got {other}; leave one out"
    if recipe.lr_backbone is not None and recipe.freeze:
        yield (f"--lr-backbone needs a backbone that is trained, got {recipe.lr_backbone} and --freeze; leave one out")
    if recipe.accumulate > recipe.batch_size:
        yield (
            f"--accumulate must be at most --batch-size, got {recipe.accumulate} pieces of {recipe.batch_size} images;"
            " leave it out"
        )
    if recipe.mup and recipe.optimizer not in ("adam", "adamw"):
        yield f"--mup needs Adam, got --optimizer {recipe.optimizer}; use --optimizer adam"
    if recipe.average_decay is not None and recipe.average == "none":
        yield f"--average-decay needs an average, got {recipe.average_decay:g}; give --average ema or lookahead"
    if recipe.tta != "none" and recipe.freeze and recipe.feature_cache:
        yield f"--tta needs the images, got {recipe.tta} and features kept by --freeze; give --no-feature-cache"
    if recipe.progressive_resize is not None and recipe.freeze and recipe.feature_cache:
        yield (
            f"--progressive-resize needs the images, got {recipe.progressive_resize:g} and features kept by --freeze;"
            " give --no-feature-cache"
        )
    behind = [name for name in ("mup", "pretrained") if getattr(recipe, name)]
    if recipe.whiten is not None and behind:
        yield f"--whiten cannot be combined with --{behind[0]}, got {recipe.whiten}; leave one out"
    if recipe.head in FITTED_HEADS:
        obstacles = {"no --freeze": not recipe.freeze, "--augment": recipe.augment not in ((), AUTO, STRONG),
                     "--no-feature-cache": not recipe.feature_cache, "--average": recipe.average != "none"}  # fmt: skip
        if any(obstacles.values()):
            yield (
                f"--head {recipe.head} is fitted on the features of a frozen backbone,"
                f" got {', '.join(word for word, there in obstacles.items() if there)};"
                " give --freeze, without --augment, --average and --no-feature-cache"
            )
    given = [name for name in TORCH_ONLY if getattr(recipe, name) != type(recipe).__dataclass_fields__[name].default]
    flags = ["--" + name.replace("_", "-") for name in given]
    if given and recipe.backend != "torch":
        yield f"{recipe.backend} does not support {', '.join(flags)}; use --backend torch"


def doubts(recipe: Any) -> Iterator[str]:
    """What is allowed and seldom meant: said before a run, not refused."""
    frozen = "--freeze" if recipe.freeze else "--freeze-until" if recipe.freeze_until else ""
    if frozen and not (recipe.pretrained or recipe.weights):
        yield (
            f"note: {frozen} without --pretrained or --weights keeps the frozen layers at their random start;"
            " only what follows them learns"
        )

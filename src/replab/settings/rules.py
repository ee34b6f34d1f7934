"""What a recipe may not be: each rule with the value it is about, whether that is well, and the way out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from replab.settings.recipe import Recipe, Search

OPTIMIZERS = ("adam", "adamw", "sgd")
SCHEDULES = ("constant", "one-cycle", "cosine")
CHOICES = ("one-standard-error", "best")
LOSSES = ("cross-entropy", "squared-error")
BACKENDS = ("torch", "mytorch")
FITTED_HEADS = ("logistic", "knn")  # at once, on features
HEADS = ("linear", "mlp", *FITTED_HEADS)
METRICS = ("cosine", "euclidean")
TORCH_ONLY = ("pretrained", "weights", "freeze", "freeze_until", "unfreeze_every", "lr_backbone", "head", "mup")

Rule = tuple[str, Any, bool, str]


def rules(recipe: Recipe) -> list[Rule]:
    return [
        (
            "lr must be above 0",
            recipe.lr,
            recipe.lr is None or 0 < recipe.lr < math.inf,
            "1e-3 is a common start",
        ),
        (
            "epochs must be at least 1",
            recipe.epochs,
            recipe.epochs is None or recipe.epochs >= 1,
            "leave it out to search",
        ),
        ("batch_size must be at least 1", recipe.batch_size, recipe.batch_size >= 1, "128 is the default"),
        (
            "weight_decay must not be negative",
            recipe.weight_decay,
            0 <= recipe.weight_decay < math.inf,
            "0 turns it off",
        ),
        ("momentum must be from 0 to below 1", recipe.momentum, 0 <= recipe.momentum < 1, "0.9 is common"),
        (
            "clip_value must be above 0",
            recipe.clip_value,
            recipe.clip_value is None or recipe.clip_value > 0,
            "leave it out for none",
        ),
        (
            "clip_norm must be above 0",
            recipe.clip_norm,
            recipe.clip_norm is None or recipe.clip_norm > 0,
            "leave it out for none",
        ),
        (
            "label_smoothing must be from 0 to below 1",
            recipe.label_smoothing,
            0 <= recipe.label_smoothing < 1,
            "0 is off",
        ),
        (
            "optimizer must be one of " + ", ".join(OPTIMIZERS),
            recipe.optimizer,
            recipe.optimizer in OPTIMIZERS,
            "adam is the default",
        ),
        (
            "schedule must be one of " + ", ".join(SCHEDULES),
            recipe.schedule,
            recipe.schedule in SCHEDULES,
            "constant is the default",
        ),
        (
            "loss must be one of " + ", ".join(LOSSES),
            recipe.loss,
            recipe.loss in LOSSES,
            "cross-entropy is the default",
        ),
        (
            f"{recipe.schedule} needs to know its length",
            "no epochs",
            recipe.schedule == "constant" or recipe.epochs is not None,
            "give --epochs",
        ),
        (
            "backend must be one of " + ", ".join(BACKENDS),
            recipe.backend,
            recipe.backend in BACKENDS,
            "torch is the default",
        ),
        (
            "size must be at least 1",
            recipe.size,
            recipe.size is None or recipe.size >= 1,
            "leave it out to keep the images' own",
        ),
        (
            "limit must be at least 2",
            recipe.limit,
            recipe.limit is None or recipe.limit >= 2,
            "leave it out for all images",
        ),
        (
            "per_class must be at least 1",
            recipe.per_class,
            recipe.per_class is None or recipe.per_class >= 1,
            "leave it out for all images",
        ),
        (
            "augmented_copy leaves nothing to search",  # copies of validation images would be trained on
            recipe.augmented_copy,
            not recipe.augmented_copy
            or (recipe.lr is not None and recipe.epochs is not None and not recipe.search.space),
            "give --lr and --epochs, or use --augment",
        ),
        ("seed must be from 0 to 2**32 - 1", recipe.seed, 0 <= recipe.seed < 2**32, "3407 is the default"),
        (
            "budget must be above 0 seconds",
            recipe.budget,
            recipe.budget is None or recipe.budget > 0,
            "try --budget 10m",
        ),
    ]


def search_rules(search: Search) -> list[Rule]:
    low, high = search.lr
    return [
        ("search.trials must be at least 1", search.trials, search.trials >= 1, "20 is the default"),
        ("search.max_epochs must be at least 1", search.max_epochs, search.max_epochs >= 1, "50 is the default"),
        ("search.patience must be at least 1", search.patience, search.patience >= 1, "5 is the default"),
        (
            "search.choose must be one of " + ", ".join(CHOICES),
            search.choose,
            search.choose in CHOICES,
            "best is the notes' protocol",
        ),
        (
            "search.min_validation must be at least 1",
            search.min_validation,
            search.min_validation >= 1,
            "300 is the default",
        ),
        (
            "search.fraction must be above 0 and at most 1",
            search.fraction,
            0 < search.fraction <= 1,
            "0.2 is the default",
        ),
        (
            "search.validation must be above 0 and below 1",
            search.validation,
            0 < search.validation < 1,
            "0.2 is the default",
        ),
        (
            "search.lr must be [low, high] with 0 < low < high",
            list(search.lr),
            0 < low < high < math.inf,
            "the default is e^-10 to e^-4",
        ),
    ]


def backbone_rules(recipe: Recipe) -> list[Rule]:
    asked = [k for k in TORCH_ONLY if getattr(recipe, k) != recipe.__dataclass_fields__[k].default]
    return [
        (
            "weights come from one place",
            f"--pretrained and --weights {recipe.weights}",
            not (recipe.pretrained and recipe.weights),
            "leave one out",
        ),
        (
            "freeze and freeze_until are two amounts of freezing",
            recipe.freeze_until,
            not (recipe.freeze and recipe.freeze_until),
            "leave one out",
        ),
        (
            "lr_backbone must be above 0, for a backbone that is not frozen",
            recipe.lr_backbone,
            recipe.lr_backbone is None or (0 < recipe.lr_backbone < math.inf and not recipe.freeze),
            "leave it out for one rate",
        ),
        ("base_width must be at least 1", recipe.base_width, recipe.base_width >= 1, "64 is the default"),
        (
            "mup is Adam's parametrisation",
            recipe.optimizer,
            not recipe.mup or recipe.optimizer in ("adam", "adamw"),
            "use --optimizer adam",
        ),
        ("head must be one of " + ", ".join(HEADS), recipe.head, recipe.head in HEADS, "linear is the default"),
        (
            f"head {recipe.head} is fitted on the features of a frozen backbone",
            ", ".join(
                w
                for w, given in [
                    ("no freeze", not recipe.freeze),
                    ("augment", recipe.augment),
                    ("no feature cache", not recipe.feature_cache),
                ]
                if given
            ),
            recipe.head not in FITTED_HEADS or (recipe.freeze and not recipe.augment and recipe.feature_cache),
            "give --freeze, without --augment and --no-feature-cache",
        ),
        (
            "neighbours must be at least 1",
            recipe.neighbours,
            recipe.neighbours is None or recipe.neighbours >= 1,
            "leave it out to search",
        ),
        ("metric must be one of " + ", ".join(METRICS), recipe.metric, recipe.metric in METRICS, "cosine is common"),
        (
            "unfreeze_every must be at least 1 epoch, without freeze and freeze_until",
            recipe.unfreeze_every,
            recipe.unfreeze_every is None
            or (recipe.unfreeze_every >= 1 and not recipe.freeze and not recipe.freeze_until),
            "it freezes all but the head itself",
        ),
        (
            "mytorch does without backbones and muP",
            ", ".join(asked),
            not asked or recipe.backend == "torch",
            "use --backend torch",
        ),
    ]

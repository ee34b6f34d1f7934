"""Losses of a classifier: a function `(lib, logits, target) -> (B,)` under `@loss`, one file each.

`lib` is torch or mytorch. `target` is the labels (B,), or shares of classes (B, classes) where an augmentation mixed
them. One that can smooth labels takes `label_smoothing` too. `@loss(measured=...)` names the same function of NumPy
arrays, without smoothing, where evaluation has a more exact one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from replab.backends.own_parts import accepts, signature
from replab.errors import RecipeError
from replab.settings.choices import loss as loss  # the decorator of a loss: @loss


class Loss:
    """A registered loss, or one of the user's own, which does without `lib`."""

    def __init__(self, name: str, function: Callable[..., Any], lib: Any, label_smoothing: float = 0.0):
        self.name, self.function, self.lib = name, function, lib
        self.first = (lib,) if any(p.name == "lib" for p in signature(function)[:1]) else ()
        self.more = {"label_smoothing": label_smoothing} if accepts(function, "label_smoothing") else {}
        if label_smoothing and not self.more:
            raise RecipeError(f"--loss {name} does not smooth labels, got {label_smoothing}; leave one of them out")

    def __call__(self, logits: Any, target: Any) -> Any:
        return self.function(*self.first, logits, target, **self.more)

    def measured(self, logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Each image's loss without smoothing, (N,) float64."""
        if (own := getattr(self.function, "measured", None)) is not None:
            return np.asarray(own(logits, labels))
        tensors = self.lib.from_numpy(np.ascontiguousarray(logits)), self.lib.from_numpy(labels.astype(np.int64))
        return np.asarray(self.function(*self.first, *tensors).detach().numpy(), np.float64)


def one_hot(lib: Any, target: Any, classes: int) -> Any:
    """The target as shares of classes (B, classes)."""
    return lib.nn.functional.one_hot(target, classes) if target.ndim == 1 else target

"""Augmentations of whole batches, by name: `parse("flip,crop=4")` → steps → `apply`.

An augmentation is a function `(x, generator, black, *numbers) -> x` under `@augmentation`, in a file of this folder.
x is a normalised batch (B, C, H, W); `generator` is the CPU generator all draws come from; `black` (1, C, 1, 1) is the
normalised value of a 0 pixel and fills what comes in from outside the image. One that mixes labels
(`@augmentation(mixes_labels=True)`) returns a Mixed; one that follows each image through the epochs (`by_turn=True`)
also gets `turn=Turn(epoch, coin)`. `sides={"pad": 1}`: pad must be below once the image's side.
`needs_white=True`: it takes `white`, the value of a 255 pixel, too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from replab.backends.own_parts import Part
from replab.errors import RecipeError, UnknownName
from replab.settings.choices import augmentation
from replab.settings.own_parts import split


class Step(NamedTuple):
    """One augmentation and its arguments; `own` is the function of one that is not registered."""

    name: str
    args: tuple[float, ...] = ()
    own: Callable[..., Any] | None = None

    @property
    def function(self) -> Callable[..., Any]:
        return self.own or augmentation.get(self.name)


class Turn(NamedTuple):
    """For augmentations that follow each image from epoch to epoch."""

    epoch: int
    coin: Tensor  # (B,) in [0, 1): each image's own, the same in every epoch


class Mixed(NamedTuple):
    """A batch whose images are `share` themselves and 1 - share their partners."""

    x: Tensor
    partner: Tensor  # (B,) int64
    share: float


def parse(text: str | Sequence[str | Step], own: Mapping[str, Part] | None = None) -> tuple[Step, ...]:
    """`"flip,crop=4"`, or a sequence of such parts, → steps, checked. Arguments are separated by colons.

    `own`: the user's own augmentations by name.
    """
    parts = [p.strip() for p in text.split(",")] if isinstance(text, str) else list(text)
    return tuple(part if isinstance(part, Step) else _step(part, own or {}) for part in parts if part)


def spell(steps: Sequence[Step]) -> str:
    """What parse reads: `"flip,crop=4"`."""
    return ",".join(s.name + ("=" + ":".join(f"{a:g}" for a in s.args) if s.args else "") for s in steps)


def apply(
    x: Tensor,
    steps: Sequence[Step],
    generator: torch.Generator,
    black: Tensor,
    target: Tensor | None = None,
    turn: Turn | None = None,
    white: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    """(images, mixed targets or None). `target`: the labels as (B, classes), for steps that mix them."""
    mixed = None
    for step in steps:
        more: dict[str, Any] = {"turn": turn} if getattr(step.function, "by_turn", False) else {}
        more |= {"white": white} if getattr(step.function, "needs_white", False) else {}
        found = step.function(x, generator, black, *step.args, **more)
        if isinstance(found, Mixed):
            assert target is not None
            target = mixed = found.share * target + (1 - found.share) * target[found.partner]
            found = found.x
        x = found
    return x, mixed


def mixes_labels(steps: Sequence[Step]) -> bool:
    return any(getattr(step.function, "mixes_labels", False) for step in steps)


def check_fits(steps: Sequence[Step], height: int, width: int) -> None:
    """Refuse steps that could leave nothing of images this small."""
    side = min(height, width)
    for step in steps:
        function = step.function
        names = list(inspect.signature(function).parameters)[3:]
        for name, value in zip(names, step.args):
            most = getattr(function, "sides", {}).get(name)
            if most is not None and value >= most * side:
                raise RecipeError(
                    f"augmentation {spell([step])!r}: the {name} must be below {most * side:g} pixels on images of"
                    f" {width}x{height}, got {value:g}; use a smaller one"
                )


def drawn_share(alpha: float, generator: torch.Generator) -> float:
    """A number from Beta(alpha, alpha), by the batch's own generator."""
    if alpha == 0:
        return 1.0
    seed = int(torch.randint(0, 2**31, (1,), generator=generator))
    return float(np.random.default_rng(seed).beta(alpha, alpha))


def _step(text: str, own: Mapping[str, Part]) -> Step:
    name, numbers = split(text)
    try:
        function = own[name].function if name in own else augmentation.get(name)
    except UnknownName as error:
        raise RecipeError(str(error)) from None
    parameters = list(inspect.signature(function, eval_str=True).parameters.values())[3:]
    parameters = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    parameters = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    usage = name + ("=" + ":".join(defaults) if (defaults := _defaults(parameters)) else "")
    try:
        args = tuple(float(n) for n in numbers.split(":")) if numbers.strip() else ()
    except ValueError:
        raise RecipeError(f"augmentation {text!r}: arguments must be numbers, as in {usage}") from None
    if len(args) > len(parameters):
        raise RecipeError(f"augmentation {text!r}: at most {len(parameters)} numbers, got {len(args)}: {usage}")
    if not all(0 <= a < 1e4 for a in args):
        raise RecipeError(f"augmentation {text!r}: arguments must be from 0 to 10,000; use {usage}")
    for parameter, value in zip(parameters, args):
        if parameter.annotation is int and value != int(value):
            raise RecipeError(f"augmentation {text!r}: must be a whole number of pixels, as in {usage}")
        limit = getattr(function, "limits", {}).get(parameter.name)
        if limit is not None and value >= limit:
            raise RecipeError(
                f"augmentation {text!r}: the {parameter.name} must be below {limit:g}, got {value:g}; use {usage}"
            )
    typed = tuple(int(a) if p.annotation is int else a for p, a in zip(parameters, args))
    return Step(name, typed, function if name in own else None)


def _defaults(parameters: Sequence[inspect.Parameter]) -> list[str]:
    return [f"{p.default:g}" for p in parameters if isinstance(p.default, (int, float))]

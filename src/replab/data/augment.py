"""Augmentations of whole batches, one small function each, drawn from a given CPU generator.

They work on normalised batches: `black` is the normalised value of a 0 pixel, a number a channel, and fills
whatever comes in from outside the image or is cut out of it. `parse("flip,crop=4")` names them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from replab.errors import RecipeError, UnknownName


class Step(NamedTuple):
    """One augmentation and its arguments."""

    name: str
    args: tuple[float, ...] = ()


# (x: (B, C, H, W), generator, black: (1, C, 1, 1), *args) → (B, C, H, W)
Augmentation = Callable[..., Tensor]


def flip(x: Tensor, generator: torch.Generator, black: Tensor) -> Tensor:
    """Mirror half of the images left to right."""
    mirrored = torch.rand(len(x), generator=generator) < 0.5
    return torch.where(mirrored.to(x.device).view(-1, 1, 1, 1), x.flip(3), x)


def crop(x: Tensor, generator: torch.Generator, black: Tensor, pad: int = 4) -> Tensor:
    """Pad by `pad` black pixels on each side and cut out the image's size at a random place."""
    b, c, h, w = x.shape
    top, left = torch.randint(0, 2 * pad + 1, (2, b), generator=generator).to(x.device)
    padded = black.expand(b, c, h + 2 * pad, w + 2 * pad).clone()
    padded[:, :, pad : pad + h, pad : pad + w] = x
    windows = padded.unfold(2, h, 1).unfold(3, w, 1)  # a view: (B, C, 2 pad + 1, 2 pad + 1, H, W)
    return windows[torch.arange(b, device=x.device), :, top, left]


def cutout(x: Tensor, generator: torch.Generator, black: Tensor, side: int = 8) -> Tensor:
    """Blacken a square of `side` pixels around a random pixel; at the border only the part inside."""
    b, _, h, w = x.shape
    top = torch.randint(0, h, (b,), generator=generator).to(x.device) - side // 2
    left = torch.randint(0, w, (b,), generator=generator).to(x.device) - side // 2
    rows = torch.arange(h, device=x.device) - top.view(-1, 1)  # (B, H), 0..side-1 inside the square
    columns = torch.arange(w, device=x.device) - left.view(-1, 1)
    in_rows = ((rows >= 0) & (rows < side)).view(b, 1, h, 1)
    in_columns = ((columns >= 0) & (columns < side)).view(b, 1, 1, w)
    return torch.where(in_rows & in_columns, black, x)


def affine(
    x: Tensor,
    generator: torch.Generator,
    black: Tensor,
    degrees: float = 10,
    shift: float = 3,
    zoom: float = 0.1,
    enlarge: float | None = None,
) -> Tensor:
    """Rotate by ±degrees, shift by ±shift pixels, zoom from 1-zoom to 1+enlarge (default: 1+zoom)."""
    b, _, h, w = x.shape
    turn, dx, dy, scale = torch.rand(4, b, generator=generator)
    angle = torch.deg2rad((2 * turn - 1) * degrees)
    low, high = 1 - zoom, 1 + (zoom if enlarge is None else enlarge)
    factor = low + (high - low) * scale
    cos, sin = torch.cos(angle) / factor, torch.sin(angle) / factor
    # affine_grid maps output to input in units of half an image: a turn of an oblong image needs its aspect
    shift_x, shift_y = (2 * dx - 1) * 2 * shift / w, (2 * dy - 1) * 2 * shift / h
    theta = torch.stack([torch.stack([cos, -sin * h / w, shift_x], 1), torch.stack([sin * w / h, cos, shift_y], 1)], 1)
    grid = F.affine_grid(theta.to(x.device), list(x.shape), align_corners=False)  # (B, H, W, 2)
    # grid_sample fills with 0: black is made 0 meanwhile
    return F.grid_sample(x - black, grid, align_corners=False) + black


AUGMENTATIONS: dict[str, Augmentation] = {f.__name__: f for f in (flip, crop, cutout, affine)}


def parse(text: str | Sequence[str | Step]) -> tuple[Step, ...]:
    """`"flip,crop=4"`, or a sequence of such parts, → steps, checked. Arguments are separated by colons."""
    parts = [p.strip() for p in text.split(",")] if isinstance(text, str) else list(text)
    return tuple(part if isinstance(part, Step) else _step(part) for part in parts if part)


def spell(steps: Sequence[Step]) -> str:
    """What parse reads: `"flip,crop=4"`."""
    return ",".join(s.name + ("=" + ":".join(f"{a:g}" for a in s.args) if s.args else "") for s in steps)


def apply(x: Tensor, steps: Sequence[Step], generator: torch.Generator, black: Tensor) -> Tensor:
    for name, args in steps:
        x = AUGMENTATIONS[name](x, generator, black, *args)
    return x


def _step(text: str) -> Step:
    name, _, numbers = text.partition("=")
    name = name.strip()
    if name not in AUGMENTATIONS:
        raise unknown(name)
    usage = _usage(name)
    try:
        args = tuple(float(n) for n in numbers.split(":")) if numbers.strip() else ()
    except ValueError:
        raise RecipeError(f"augmentation {text!r}: arguments must be numbers, as in {usage}") from None
    parameters = list(inspect.signature(AUGMENTATIONS[name]).parameters.values())[3:]
    if len(args) > len(parameters):
        raise RecipeError(f"augmentation {text!r}: at most {len(parameters)} numbers, got {len(args)}: {usage}")
    if not all(0 <= a < 1e4 for a in args):
        raise RecipeError(f"augmentation {text!r}: arguments must be from 0 to 10,000; use {usage}")
    if name in ("crop", "cutout"):
        if any(a != int(a) for a in args):
            raise RecipeError(f"augmentation {text!r}: must be a whole number of pixels, as in {usage}")
        return Step(name, tuple(int(a) for a in args))
    if name == "affine" and len(args) > 2 and args[2] >= 1:
        raise RecipeError(f"augmentation {text!r}: the zoom must be below 1, got {args[2]:g}; use {usage}")
    return Step(name, args)


def unknown(name: str) -> RecipeError:
    """RecipeError with UnknownName's text: the nearest name."""
    known = sorted(AUGMENTATIONS)
    return RecipeError(str(UnknownName("augmentation", name, known, f"there are {', '.join(known)}")))


def _usage(name: str) -> str:
    parameters = list(inspect.signature(AUGMENTATIONS[name]).parameters.values())[3:]
    defaults = [f"{p.default:g}" for p in parameters if p.default is not None]
    return name + ("=" + ":".join(defaults) if defaults else "")

"""Does the best learning rate stay when a model gets wider? The loss by rate and width, in both parametrisations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from replab import mup, setup
from replab.errors import RecipeError
from replab.progress import Progress
from replab.recipe import Recipe
from replab.search import split_for_search
from replab.train import Diverged, fit, optimizers

WAYS = ("standard", "muP")


@dataclass(frozen=True)
class Point:
    way: str
    width: int
    lr: float
    loss: float | None  # best validation loss; None where training diverged

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def rates(low: float, high: float, count: int) -> list[float]:
    return [low * (high / low) ** (i / (count - 1)) for i in range(count)]


def measure(
    recipe: Recipe,
    widths: Sequence[int],
    wanted: Sequence[float],
    progress: Progress,
    say: Callable[[str], None] = lambda line: None,
) -> list[Point]:
    """Train at each rate and width, standard and muP, on one split of the training images. No test image is seen."""
    if len(widths) < 2 or len(wanted) < 3:
        raise RecipeError(f"transfer needs two widths and three rates, got {list(widths)} and {len(wanted)} rates")
    found = []
    base = setup.prepare(recipe)
    train, validation = split_for_search(base.data.train, recipe.search, recipe.seed)
    for way in WAYS:
        for width in sorted(widths):
            params = mup.at_width(recipe.model, recipe.params, width)
            for lr in wanted:
                one = recipe.replace(params=params, lr=lr, mup=way == "muP", base_width=min(widths))
                model = base.fresh_model(one)
                losses = []
                try:
                    for row, _ in fit(
                        model, base.task, one, train, optimizers(base.task, model, one, base.backend),
                        backend=base.backend, device=base.device, watch={"val": validation}, progress=progress,
                    ):  # fmt: skip
                        losses.append(row["val_loss"])
                except Diverged:
                    pass
                loss = min((v for v in losses if math.isfinite(v)), default=None)
                found.append(Point(way, width, lr, loss))
            say(f"{way}, width {width}: best rate {best_rate(found, way, width):.3g}")
    return found


def best_rate(points: Sequence[Point], way: str, width: int) -> float:
    own = [p for p in points if (p.way, p.width) == (way, width) and p.loss is not None]
    if not own:
        raise RecipeError(f"every rate diverged at width {width} ({way}); give lower --rates")
    return min(own, key=lambda p: p.loss if p.loss is not None else math.inf).lr


def verdict(points: Sequence[Point]) -> str:
    """By how many steps of the grid the best rate moved between the smallest and the largest width, in each way."""
    wanted = sorted({p.lr for p in points})
    widths = sorted({p.width for p in points})
    words = []
    for way in WAYS:
        places = [wanted.index(best_rate(points, way, width)) for width in widths]
        moved = max(places) - min(places)
        step = wanted[1] / wanted[0]
        how = (
            "stayed"
            if moved == 0
            else f"stayed within one step ({step:.2g}x)"
            if moved == 1
            else f"moved {moved} steps of {step:.2g}x"
        )
        listed = ", ".join(f"{width}: {wanted[place]:.3g}" for width, place in zip(widths, places))
        words.append(f"{way}: the best rate {how} ({listed})")
    return "; ".join(words)

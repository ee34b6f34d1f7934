"""Does the best learning rate stay when a model gets wider? The loss by rate and width, in both parametrisations."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import torch

from replab.data.split import split_for_search
from replab.errors import RecipeError
from replab.models.adapt import mup
from replab.records.events import Events
from replab.search import hire as hiring
from replab.search.engines.base import Workers
from replab.search.points import WAYS, Job, Point, Points, in_way
from replab.search.trials import in_order
from replab.search.work import Work
from replab.settings.recipe import Recipe
from replab.settings.words import count, duration
from replab.training import cost
from replab.training.experiment import Experiment
from replab.training.prepare import prepare

STEPS, RATE, SEEDS = 4, 0.003, 3  # of the coordinate check
LEVEL = 0.2  # the exponent of growth with width up to which an output counts as level


def rates(low: float, high: float, count: int) -> list[float]:
    return [low * (high / low) ** (i / (count - 1)) for i in range(count)]


def estimate(base: Experiment, widths: Sequence[int], count: int) -> float:
    """Seconds of all trainings, from a few steps at each width."""
    seconds = 0.0
    for width in widths:
        open_rate = in_way(base.recipe, WAYS[0], width, widths, lr=None)
        measured = cost.measure(replace(base, recipe=open_rate, tried=[]))
        seconds += len(WAYS) * count * (base.recipe.epochs or 1) * measured.trial_epoch_seconds
    return seconds


def measure(
    recipe: Recipe,
    widths: Sequence[int],
    wanted: Sequence[float],
    events: Events,
    workers: Workers = hiring.ALONE,
) -> list[Point]:
    """Train at each rate and width, standard and muP, on one split of the training images. No test image is seen."""
    if len(set(widths)) < max(2, len(widths)) or min(widths) < 1 or len(wanted) < 3:
        raise RecipeError(
            f"transfer needs two or more different widths and three rates, got {list(widths)} and {len(wanted)} rates"
        )
    base = prepare(recipe)
    shared = Work(base, *split_for_search(base.data.train, recipe.search, recipe.seed))
    points = [(way, width, lr) for way in WAYS for width in sorted(widths) for lr in wanted]
    events.message(
        f"cost: {len(points)} trainings of {count(recipe.epochs or 0, 'epoch')} on {count(len(shared.train), 'image')},"
        f" about {duration(estimate(base, widths, len(wanted)))} (measured on a few batches at each width)"
    )
    jobs = [Job(number, *point) for number, point in enumerate(points)]
    crew = hiring.crew(workers, len(jobs), hiring.room(base.device), cost.peak_memory(base.device))
    engine = hiring.hire(Points(shared, widths, int(torch.get_num_threads())), crew)
    found: list[Point] = []
    try:
        for done in in_order(engine.run(deque(jobs), events), 0):
            found.append(done.result)
            way, width = done.result.way, done.result.width
            if len(found) % len(wanted) == 0:
                events.message(f"{way}, width {width}: best rate {best_rate(found, way, width):.3g}")
    finally:
        engine.close()
    return found


Sizes = dict[str, dict[str, dict[int, list[float]]]]  # layer → way → width → mean |output| after each step


def coordinate_check(recipe: Recipe, widths: Sequence[int]) -> Sizes:
    """Of the last hidden layer (before any norm) and of the logits, on one batch, averaged over a few seeds."""
    found: Sizes = {}
    base = prepare(recipe)
    for way in WAYS:
        for width in sorted(widths):
            for seed in range(SEEDS):
                model = base.model(in_way(recipe, way, width, widths, seed=recipe.seed + seed))
                batch = next(iter(base.batches(base.data.train, model, recipe, shuffled=True).epoch(1)))
                torch.manual_seed(seed)  # dropout's
                seen = mup.coordinates(model, (batch.x, batch.y), STEPS, RATE)
                hidden, last = list(seen)[-2:]
                called = ".".join(hidden.split(".")[-3:])
                for name, layer in ((f"output of {called}", hidden), ("logits", last)):
                    sizes = found.setdefault(name, {}).setdefault(way, {}).setdefault(width, [0.0] * (STEPS + 1))
                    found[name][way][width] = [a + b / SEEDS for a, b in zip(sizes, seen[layer])]
    return found


def growths(sizes: Sizes) -> dict[str, dict[str, float]]:
    """layer → way → the exponent of its growth with width after the step where it grew most: overshooting hides it."""

    def most(by_width: dict[int, list[float]]) -> float:
        return max(mup.growth({width: v[step] for width, v in by_width.items()}) for step in range(1, STEPS + 1))

    return {layer: {way: most(by_width) for way, by_width in by_way.items()} for layer, by_way in sizes.items()}


def check_verdict(sizes: Sizes) -> str:
    """Whether outputs stay the same size as the width grows, in each way."""
    words = []
    for way in WAYS:
        grown = {layer: by_way[way] for layer, by_way in growths(sizes).items()}
        passed = all(power <= LEVEL for power in grown.values())
        listed = ", ".join(f"{layer} as width^{power:.2f}" for layer, power in grown.items())
        words.append(f"{way} {'passes' if passed else 'fails'} ({listed})")
    return f"coordinate check over {STEPS} steps: {'; '.join(words)}"


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
        ends = {0: "--low", len(wanted) - 1: "--high"}
        open_ended = " and ".join(option for place, option in ends.items() if place in places)
        beyond = f", an end of the rates tried: the best may lie beyond {open_ended}" if open_ended else ""
        words.append(f"{way}: the best rate {how} ({listed}{beyond})")
    return "; ".join(words)

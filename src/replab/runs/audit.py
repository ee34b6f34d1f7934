"""What might be wrong with this number? Plain sentences about a finished run, each with the figure it rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from replab.training import features
from replab.runs.compare import NOISE, paired_p
from replab.training.evaluate import evaluate
from replab.records.progress import Progress
from replab.settings.recipe import derive_seed
from replab.runs.run import Run
from replab.search.search import Trial, best
from replab.training.experiment import Setup
from replab.training.loop import fit, optimizers

EDGE = 0.05  # of the searched range, on a logarithmic scale


@dataclass(frozen=True)
class Finding:
    """`warning`: a reason to doubt the number; otherwise a check that found nothing."""

    warning: bool
    sentence: str


def audit(run: Run, others: Sequence[Run] = ()) -> list[Finding]:
    """Everything that a run folder, and the runs beside it, can tell. Warnings first."""
    found = [*_images(run), *_search(run), *_model(run), *_curve(run), *_others(run, others)]
    return sorted(found, key=lambda finding: not finding.warning)


def check_inputs(setup: Setup) -> dict[str, Any]:
    """What only the images can tell, noted when a run begins."""
    from replab.data.inspect import shared_images

    train, test = setup.data.train, setup.data.test
    few, tested = (images.take(2000, seed=0).pixels for images in (train, test))  # the first may be of one class
    return {
        "shared_images": shared_images(train, test),
        "train_pixel_mean": float(few.mean()),
        "test_pixel_mean": float(tested.mean()),
        "train_pixel_std": float(few.std()),
    }


def unsteadiness(model: Any, setup: Setup, batches: Any, first: np.ndarray) -> float:
    """Largest change of an output when the images come in batches of 16: 0 but for rounding in a model in eval mode."""
    again = evaluate(model, setup.task, batches, setup.backend, setup.device).outputs["logits"]
    return float(np.abs(again - first[: len(again)]).max() / max(1e-6, float(np.abs(first).max())))


def _images(run: Run) -> Iterator[Finding]:
    seen = run.input
    if "shared_images" not in seen:
        return
    shared, n = seen["shared_images"], seen["test_images"]
    text = f"{shared:,} of {n:,} test images ({shared / n:.2%}) are also training images, to the last pixel."
    yield Finding(shared > 0, text)
    gap = abs(seen["train_pixel_mean"] - seen["test_pixel_mean"]) / max(seen["train_pixel_std"], 1e-6)
    text = f"The mean pixel of test images is {gap:.2f} standard deviations from that of training images"
    yield Finding(gap > 0.5, text + (": are both at the same scale?" if gap > 0.5 else "."))


def _search(run: Run) -> Iterator[Finding]:
    trials, chosen = run.record.trials(), run.chosen
    if not trials:
        yield Finding(False, "Nothing was searched: the settings were given, so nothing was chosen here.")
        return
    pick = best(trials, chosen.search.choose)
    if "lr" in pick.params:
        yield _edge(pick, chosen.search.lr)
    complete = [t for t in trials if t.state == "complete" and t.value is not None]
    least = best(trials)
    limit = (least.value or 0.0) + least.error
    equal = [t for t in complete if t.value is not None and t.value <= limit]
    split = run.record.read_json("split.json", {})
    if len(equal) > 1 and all("lr" in t.params for t in equal):
        rates = [t.params["lr"] for t in equal]
        yield Finding(
            len(equal) > len(complete) / 2,
            f"{len(equal)} of {len(complete)} finished trials, rates {min(rates):.2g} to {max(rates):.2g}, are"
            f" within one standard error ({least.error:.3g}) of the best: {split['validation_images']:,} validation"
            " images cannot tell them apart.",
        )
    failed = [t for t in trials if t.state == "failed"]
    if failed:
        yield Finding(False, f"{len(failed)} of {len(trials)} trials failed: {failed[0].reason}.")
    if run.recipe.epochs is None:
        factor = run.input["train_images"] / split["train_images"]
        yield Finding(
            factor > 1.5,
            f"The epoch count was found on {split['train_images']:,} images and used on {run.input['train_images']:,}:"
            f" {factor:.2g} times the updates the search saw.",
        )


def _edge(pick: Trial, span: tuple[float, float]) -> Finding:
    low, high = map(math.log, span)
    place = (math.log(pick.params["lr"]) - low) / (high - low)
    at_edge = not EDGE <= place <= 1 - EDGE
    where = f"the chosen rate {pick.params['lr']:.3g} is {place:.0%} of the way from {span[0]:.2g} to {span[1]:.2g}"
    return Finding(at_edge, where.capitalize() + (": the best may lie outside." if at_edge else ", not at its edge."))


def _model(run: Run) -> Iterator[Finding]:
    change = run.facts.get("unsteadiness")
    if change is not None:
        text = f"In other batches the model's outputs change by {change:.1e} of their size"
        wrong = change > 1e-3
        yield Finding(wrong, text + (": part of it is still in train mode." if wrong else ": it is in eval mode."))
    for cut in run.record.read_json("cuts.json", []):
        yield Finding(True, cut.capitalize() + ".")


def _curve(run: Run) -> Iterator[Finding]:
    last = [row["test_accuracy"] for row in run.epochs[-5:] if "test_accuracy" in row]
    if len(last) == 5:
        spread = max(last) - min(last)
        half = (run_interval(run)[1] - run_interval(run)[0]) / 2
        text = f"Over the last five epochs test accuracy moved by {spread:.2%}"
        more = spread > 2 * half
        yield Finding(more, text + (", more than its interval: the last epoch is a draw." if more else "."))


def run_interval(run: Run) -> tuple[float, float]:
    from replab.runs.statistics import wilson

    n = run.input["test_images"]
    return wilson(round(run.metrics.get("accuracy", 0.0) * n), n)


def _others(run: Run, others: Sequence[Run]) -> Iterator[Finding]:
    mine = run.recipe.replace(seed=0)
    same = [
        r for r in others if r.id != run.id and r.recipe.replace(seed=0) == mine and r.recipe.seed != run.recipe.seed
    ]
    seeds = 1 + len({r.recipe.seed for r in same})
    if seeds == 1:
        yield Finding(
            True, "One seed: how much the number would move with another is not known; run two more with --seed."
        )
    else:
        values = [r.metrics["accuracy"] for r in (run, *same) if "accuracy" in r.metrics]
        if len(values) > 1:
            spread = float(np.std(values, ddof=1))
            yield Finding(False, f"{seeds} seeds: mean {np.mean(values):.2%}, standard deviation {spread:.2%}.")
    rivals = [
        r
        for r in others
        if r.id != run.id and r.input["fingerprint"] == run.input["fingerprint"] and r.chosen.model != run.chosen.model
    ]
    if rivals:
        rival = max(rivals, key=lambda r: r.metrics.get("accuracy", 0.0))
        p = paired_p(run, rival)
        gap = run.metrics.get("accuracy", 0.0) - rival.metrics.get("accuracy", 0.0)
        if p is not None:
            text = f"Against {rival.chosen.model} ({rival.id}) the difference is {gap:+.2%}, p = {p:.2g}"
            yield Finding(p > NOISE, text + (": within noise." if p > NOISE else ": more than noise."))


@dataclass(frozen=True)
class Retest:
    lr: float
    loss: float
    error: float  # standard error over the validation images
    epoch: int


def retest(run: Run, setup: Setup, progress: Progress, factor: float = 3.0) -> list[Retest]:
    """Train with the chosen rate and its neighbours on nine tenths of all training images; loss on the last tenth.

    Says whether the rate found on the subset holds at full size. Test images are not looked at.
    """
    assert run.chosen.lr is not None
    setup = features.learner(setup, progress)
    train, validation = setup.data.train.split(0.1, derive_seed(run.recipe.seed, 5))
    found = []
    for lr in (run.chosen.lr / factor, run.chosen.lr, run.chosen.lr * factor):
        recipe = run.chosen.replace(lr=lr)
        model = setup.fresh_model(recipe)
        opts = optimizers(setup.task, model, recipe, setup.backend)
        rows = fit(
            model, setup.task, recipe, train, opts,
            backend=setup.backend, device=setup.device, watch={"val": validation}, progress=progress,
        )  # fmt: skip
        row = min((row for row, _ in rows), key=lambda r: r["val_loss"])
        found.append(Retest(lr, row["val_loss"], row["val_loss_se"], int(row["epoch"])))
    return found


def retest_sentence(found: Sequence[Retest]) -> Finding:
    """Whether the middle rate is as good as its neighbours."""
    least = min(found, key=lambda r: r.loss)
    mine = found[len(found) // 2]
    behind = mine.loss - least.loss
    holds = behind <= math.hypot(mine.error, least.error)
    listed = ", ".join(f"{r.lr:.3g}: {r.loss:.4f} (epoch {r.epoch})" for r in found)
    verdict = "holds at full size" if holds else f"does not hold at full size: {least.lr:.3g} is better by {behind:.4f}"
    return Finding(not holds, f"The rate found on the subset {verdict}. Validation loss by rate: {listed}.")

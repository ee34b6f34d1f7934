"""search → train → evaluate → report over one run folder. Each stage starts where the folder says it was left."""

from __future__ import annotations

from dataclasses import asdict
from time import perf_counter
from typing import Any

import numpy as np

from replab.backends.backend import array
from replab.data import inspect
from replab.data.batches import Batches
from replab.data.images import Images
from replab.data.normalise import normalisation
from replab.errors import RunError
from replab.explain import inside, mistake_maps
from replab.explain.structure.trace import trace
from replab.figures.samples import png
from replab.records import journal
from replab.records.events import Events
from replab.records.record import Record
from replab.records.values import examples
from replab.records.values.answers import most_confident_mistakes, surety
from replab.report import write as report
from replab.search.decide import choose
from replab.search.engines.base import Workers
from replab.search.hire import ALONE
from replab.settings.recipe import Recipe
from replab.settings.words import count, duration
from replab.tasks import samples
from replab.training.cost import Cost, peak_memory
from replab.training.ddp.lead import of_run, together
from replab.training.evaluate import Evaluation, evaluate
from replab.training.experiment import Experiment

CHECKPOINT_EVERY = 600.0  # seconds of an epoch that an interruption may cost


class Clock:
    """Seconds spent on a run, in this process and before it was interrupted; the budget is over both.

    The allowance decides trials and epochs. The clock ends a search or a training only where it was badly measured.
    """

    def __init__(self, record: Record, budget: float | None):
        self.budget = budget
        self.before = sum(entry["seconds"] for entry in journal.times(record.folder))
        self.started = perf_counter()

    def left(self) -> float:
        spent = self.before + perf_counter() - self.started
        return float("inf") if self.budget is None else self.budget - spent

    def is_over(self, epoch: float) -> bool:
        """Whether another epoch (or trial) of so many seconds would end more than a twentieth after the budget's end,
        which is past. So a run is late by a twentieth, or by one epoch."""
        left = self.left()
        return self.budget is not None and left <= 0 and left - epoch < -self.budget / 20


def carry_out(
    record: Record,
    experiment: Experiment,
    cost: Cost,
    events: Events,
    workers: Workers = ALONE,
    checkpoint_every: float = CHECKPOINT_EVERY,
) -> None:
    """Bring a run to its end, whatever of it is there already. An epoch has a checkpoint every so many seconds."""
    with record.lock():
        book = journal.Journal(record.folder)
        events.add(book)
        try:
            _stages(record, experiment, cost, events, workers, checkpoint_every)
        finally:
            events.remove(book)


def _stages(
    record: Record, experiment: Experiment, cost: Cost, events: Events, workers: Workers, checkpoint_every: float
) -> None:
    recorded = record.read_json("input.json", None)
    if recorded is None:
        record.write_json("input.json", describe_input(experiment))
    elif recorded["fingerprint"] != experiment.data.fingerprint:
        raise RunError(
            f"the images of {experiment.recipe.data} are not those run {record.id} began with; start a new run"
        )
    clock = Clock(record, experiment.recipe.budget)
    learner = experiment.learner(events)
    compute_features(record, learner, experiment, events)
    recipe = choose(record, learner, cost, clock.left(), clock.is_over, events, workers)
    train(record, learner, recipe, clock, events, checkpoint_every)
    evaluate_trained(record, experiment, learner, recipe, events)
    report.write(record)


def compute_features(record: Record, learner: Experiment, experiment: Experiment, events: Events) -> None:
    """Those of the training images, before the search; nothing where none are used."""
    if learner is experiment or record.has("model.safetensors"):
        return
    started = perf_counter()
    rows = learner.data.train
    seconds = perf_counter() - started
    events.tell("stage", stage="features", seconds=seconds)
    size = f"{len(rows):,} x {rows.pixels.shape[1]}"
    events.message(f"features: {size} in {duration(seconds)}; the head alone trains on them")


def describe_input(experiment: Experiment) -> dict[str, Any]:
    """What prediction, reading and the audit need to know of the images, so that none of them needs the data again."""
    data, source, spec = experiment.data, experiment.source, experiment.data.spec
    mean_std = normalisation(data.train, experiment.recipe.normalise)
    return {
        "data": data.name,
        "fingerprint": data.fingerprint,
        "train_images": len(data.train),
        "test_images": len(data.test),
        "channels": spec.channels,
        "height": spec.height,
        "width": spec.width,
        "classes": list(data.train.classes),
        "mean": None if mean_std is None else list(mean_std[0]),
        "std": None if mean_std is None else list(mean_std[1]),
        "task": experiment.task.name,
        "model_file": None if source.path is None else str(source.path),
        "model_sha256": source.sha256,
        "parts": {name: part.sha256 for name, part in experiment.own.items()},
        "weights_sha256": None if experiment.initial is None else experiment.initial.sha256,
        **({"skipped": list(data.skipped)} if data.skipped else {}),
        **inspect.compare_halves(data),
    }


def train(
    record: Record,
    learner: Experiment,
    recipe: Recipe,
    clock: Clock,
    events: Events,
    checkpoint_every: float = CHECKPOINT_EVERY,
) -> None:
    """Train from scratch on all training images; the last epoch is the model. One checkpoint per epoch, or more."""
    if record.has("model.safetensors"):
        record.drop_checkpoints()
        return
    lib = learner.backend.lib
    model = learner.model(recipe)
    state = learner.state(model, recipe)
    saved = record.checkpoint(learner.backend.load, events.message)
    rows: list[Any] = []
    if saved is not None:
        values, rows = saved  # a row without its checkpoint is made again
        state.restore(values)
    team = of_run(record.read_json("environment.json", {}))
    if team.processes == 1:  # else every process would have a generator and logs of its own to keep
        state.keep, state.every = lambda: record.write_checkpoint(state.values(), rows, lib.save), checkpoint_every
    watch = {"test": learner.data.test} if recipe.test_curve else {}
    with together(team, learner, recipe, state, len(rows) + 1, record.id) as leader:
        for row, times in leader.fit(model, recipe, watch=watch, state=state, first_epoch=len(rows) + 1, events=events):
            rows.append(row)
            record.write_lines("epochs.jsonl", rows)
            keep_samples(record, model, recipe, len(rows))
            record.write_checkpoint(state.values(), rows, lib.save)
            seconds = sum(value for key, value in times.items() if key.endswith("seconds"))
            events.tell("epoch", epoch=len(rows), total=recipe.last_epoch, row=row, seconds=seconds, times=times)
            if clock.is_over(seconds) and len(rows) < (recipe.last_epoch or 0):
                cut = f"the budget ended the training after {len(rows)} of {recipe.last_epoch} epochs"
                record.write_json("cuts.json", [*record.read_json("cuts.json", []), cut])
                break
    record.write_weights({name: array(value) for name, value in learner.whole_state(model).items()})
    record.drop_checkpoints()
    spent = sum(entry["seconds"] for entry in journal.times(record.folder) if entry["stage"] == "train")
    events.message(f"train: {count(len(rows), 'epoch')} in {duration(spent)}")


def keep_samples(record: Record, model: Any, recipe: Recipe, epoch: int) -> None:
    """A grid of the same noise every few epochs, of models that generate."""
    assert recipe.epochs is not None
    if not samples.can_draw(model) or (epoch not in (1, recipe.last_epoch) and epoch % max(1, recipe.epochs // 10)):
        return
    record.write_bytes(f"samples/epoch-{epoch:04d}.png", png(samples.draw(model, samples.GRID, recipe.seed)))


def evaluate_trained(
    record: Record, experiment: Experiment, learner: Experiment, recipe: Recipe, events: Events
) -> None:
    """The test images by the model of the last epoch, after what the task fits on training images for it."""
    if record.has("metrics.json"):
        return
    task, data = experiment.task, experiment.data
    model = experiment.trained(record, recipe)
    if not record.has("fitted.npz") and task.finishes:
        seen = experiment.evaluate(model, data.train, recipe)
        record.write_predictions(task.finish(seen.outputs, data.train, recipe.seed), "fitted.npz")
        events.tell("stage", stage="evaluate", seconds=seen.seconds)
    part = learner.part(model)
    batches = learner.batches(learner.data.test, part, recipe)
    found = evaluate(part, task, batches, experiment.backend, experiment.device, recipe.tta)
    fitted = record.predictions("fitted.npz") if record.has("fitted.npz") else {}
    more, arrays = task.conclude(model, batches, data, found.outputs, fitted, recipe.batch_size)
    metrics, kept = {**found.metrics, **more}, {**found.outputs, **arrays}
    if data.test.labels is not None:
        kept["labels"] = data.test.labels
    if "logits" in kept:
        wrong = most_confident_mistakes(kept["logits"], kept["labels"])
        kept |= {"mistake_index": wrong, "mistake_pixels": data.test.pixels[wrong]}
    record.write_predictions(kept)
    looks_inside = task.name == "classify" and experiment.backend.name == "torch"
    if "logits" in kept:
        keep_examples(record, kept["logits"], data.test, (model, experiment, recipe) if looks_inside else None)
    if looks_inside:
        inside.keep(record, model, experiment, recipe, kept["logits"], kept["labels"])
    events.tell("stage", stage="evaluate", seconds=found.seconds)
    record.write_json("facts.json", _facts(experiment, model, recipe, found, part is model))
    record.write_json("metrics.json", metrics)


def keep_examples(record: Record, logits: np.ndarray, test: Images, explained: tuple[Any, Any, Any] | None) -> None:
    """The test images behind the confusion matrix, a few of each of its cells, and a small map of each mistake."""
    assert test.labels is not None
    shape = test.pixels.shape[2:]
    chosen = examples.choose(test.labels, logits.argmax(1), surety(logits), (shape[0], shape[1]))
    maps = mistake_maps.of_mistakes(*explained, chosen, logits, test.labels) if explained else {}
    examples.write(record, chosen, test.pixels[chosen], maps)


def _facts(experiment: Experiment, model: Any, recipe: Recipe, found: Evaluation, whole: bool) -> dict[str, Any]:
    """Size, speed and structure of a trained model. `whole`: the evaluation was of all of it, not of its head alone."""
    test, logits = experiment.data.test, found.outputs.get("logits")
    normalise = normalisation(experiment.data.train, recipe.normalise)
    few = Batches(test.subset(slice(0, 64)), 16, normalise=normalise, device=experiment.device)
    again = evaluate(model, experiment.task, few, experiment.backend, experiment.device, recipe.tta)
    traced = trace(model, experiment.data.spec)
    return {
        "unsteadiness": None if logits is None else unsteadiness(again.outputs["logits"], logits),
        "parameters": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "peak_memory": peak_memory(experiment.device),
        "inference_images_per_second": len(test) / found.seconds if whole else few.size / again.seconds,
        "structure": str(model),
        "macs": traced.macs,
        "layers": [asdict(layer) for layer in traced.layers],
        "table": traced.table(),
    }


def unsteadiness(again: np.ndarray, first: np.ndarray) -> float:
    """Largest change of an output when the images come in batches of 16: 0 but for rounding in a model in eval mode."""
    return float(np.abs(again - first[: len(again)]).max() / max(1e-6, float(np.abs(first).max())))

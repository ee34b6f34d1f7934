"""search → train → evaluate → report over one run folder. Each stage starts where the folder says it was left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from time import perf_counter
from typing import Any

from replab.backends.backend import array
from replab.data.batches import Batches
from replab.data.normalise import normalisation
from replab.errors import RunError
from replab.explain import inside as explain
from replab.explain.structure.trace import trace
from replab.records.progress import Progress
from replab.records.record import Record
from replab.records.values.answers import most_confident_mistakes
from replab.report import write as report
from replab.runs import checks
from replab.search.search import Trial, apply, best, search, split_for_search, wanted_trials
from replab.settings.recipe import Recipe
from replab.training import features
from replab.training.cost import Cost, duration, peak_memory, searches
from replab.training.evaluate import evaluate
from replab.training.experiment import Setup
from replab.training.loop import Row, fit, optimizers, watching_batches


class Clock:
    """Seconds spent on a run, in this process and before it was interrupted; the budget is over both."""

    def __init__(self, record: Record, budget: float | None):
        self.record, self.budget = record, budget
        self.entries = record.read_lines("times.jsonl")
        self.before = sum(entry["seconds"] for entry in self.entries)
        self.started = perf_counter()

    def left(self) -> float:
        spent = self.before + perf_counter() - self.started
        return float("inf") if self.budget is None else self.budget - spent

    def note(self, **entry: Any) -> None:
        self.entries.append(entry)
        self.record.write_lines("times.jsonl", self.entries)


def carry_out(record: Record, setup: Setup, cost: Cost, progress: Progress, say: Callable[[str], None]) -> None:
    """Bring a run to its end, whatever of it is there already."""
    with record.lock():
        recorded = record.read_json("input.json", None)
        if recorded is None:
            record.write_json("input.json", {**describe_input(setup), **checks.check_inputs(setup)})
        elif recorded["fingerprint"] != setup.data.fingerprint:
            raise RunError(
                f"the images of {setup.recipe.data} are not those run {record.id} began with; start a new run"
            )
        clock = Clock(record, setup.recipe.budget)
        learner = features.learner(setup, progress)  # the head alone, behind a frozen backbone
        compute_features(record, learner, clock, say)
        chosen = choose(record, learner, cost, clock, progress, say)
        train_chosen(record, learner, chosen, clock, progress, say)
        finish_trained(record, setup, chosen, clock)
        evaluate_trained(record, setup, chosen, clock, learner)
        report.write(record)


def compute_features(record: Record, learner: Setup, clock: Clock, say: Callable[[str], None]) -> None:
    """Those of the training images, before the search; nothing where none are used."""
    if isinstance(learner, features.HeadSetup) and not record.has("model.safetensors"):
        started = perf_counter()
        train = learner.data.train
        seconds = perf_counter() - started
        clock.note(stage="features", seconds=seconds)
        say(f"features: {len(train):,} x {train.pixels.shape[1]} in {duration(seconds)}; the head alone trains on them")


def describe_input(setup: Setup) -> dict[str, Any]:
    """What prediction and reading need to know of the images, so that neither needs the data again."""
    train, spec = setup.data.train, setup.data.spec
    mean_std = normalisation(train, setup.recipe.normalise)
    return {
        "data": setup.data.name,
        "fingerprint": setup.data.fingerprint,
        "train_images": len(train),
        "test_images": len(setup.data.test),
        "channels": spec.channels,
        "height": spec.height,
        "width": spec.width,
        "classes": list(train.classes),
        "mean": None if mean_std is None else list(mean_std[0]),
        "std": None if mean_std is None else list(mean_std[1]),
        "task": setup.task.name,
        "model_file": None if setup.source.path is None else str(setup.source.path),
        "model_sha256": setup.source.sha256,
        "weights_sha256": None if setup.initial is None else setup.initial.sha256,
    }


def choose(
    record: Record, setup: Setup, cost: Cost, clock: Clock, progress: Progress, say: Callable[[str], None]
) -> Recipe:
    """The recipe with everything decided: by search where something was left open. Written once, as chosen.toml."""
    if record.has("chosen.toml"):
        return record.chosen()
    recipe, cuts = setup.recipe, []
    if searches(setup):
        trials = run_search(record, setup, cost, clock, progress)
        chosen = best(trials, recipe.search.choose)
        recipe = apply(recipe, chosen.params).replace(epochs=recipe.epochs or chosen.best_epoch)
        wanted = wanted_trials(setup.recipe)
        if len(trials) < wanted:
            cuts.append(f"the budget ended the search after {len(trials)} of {wanted} trials")
        found = ", ".join(
            f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
            for key, value in chosen.params.items()
        )
        say(f"search: chose trial {chosen.number} of {len(trials)}: {found or 'as given'}, {chosen.best_epoch} epochs")
    assert recipe.epochs is not None
    affordable = max(1, int(clock.left() / cost.epoch_seconds)) if recipe.budget else recipe.epochs
    if affordable < recipe.epochs:
        cuts.append(f"the budget cut the training from {recipe.epochs} to {affordable} epochs")
        recipe = recipe.replace(epochs=affordable)
    record.write_json("cuts.json", cuts)
    record.write_text("chosen.toml", recipe.to_toml())
    return recipe


def run_search(record: Record, setup: Setup, cost: Cost, clock: Clock, progress: Progress) -> list[Trial]:
    """Every trial the recipe asks for, or as many as leave time to train; each is written as it ends."""
    trials = record.trials()
    train, validation = split_for_search(setup.data.train, setup.recipe.search, setup.recipe.seed)
    record.write_json("split.json", {"train_images": len(train), "validation_images": len(validation)})

    def reserve(epochs: int) -> float:
        return max(epochs, 1) * cost.epoch_seconds  # what the final training will take

    def rows_of(recipe: Recipe) -> Iterator[Row]:
        model = setup.fresh_model(recipe)
        opts = optimizers(setup.task, model, recipe, setup.backend)
        lowest, best_epoch = float("inf"), 0
        for row, _ in fit(
            model,
            setup.task,
            recipe,
            train,
            opts,
            backend=setup.backend,
            device=setup.device,
            watch={"val": validation},
            progress=progress,
        ):
            yield row
            if row["val_loss"] < lowest:
                lowest, best_epoch = row["val_loss"], int(row["epoch"])
            if clock.left() < reserve(best_epoch) + cost.trial_epoch_seconds:
                return  # the trial counts with what it reached

    def time_left(last: Trial | None) -> bool:
        done = [t for t in trials if t.state == "complete"]
        if not done:  # one is tried at least; if all so far failed, while there is time
            return not trials or clock.left() > reserve(1) + 3 * cost.trial_epoch_seconds
        return clock.left() > reserve(best(done).best_epoch) + 3 * cost.trial_epoch_seconds

    total = wanted_trials(setup.recipe)
    found = search(setup.recipe, rows_of, trials, time_left=time_left)
    for trial, seconds in progress.trials(found, total, done=len(trials)):
        trials.append(trial)
        record.write_trials(trials)
        clock.note(stage="search", trial=trial.number, seconds=seconds)
    return trials


def train_chosen(
    record: Record, setup: Setup, recipe: Recipe, clock: Clock, progress: Progress, say: Callable[[str], None]
) -> None:
    """Train from scratch on all training images; the last epoch is the model. A checkpoint an epoch."""
    if record.has("model.safetensors"):
        record.drop_checkpoints()
        return
    lib = setup.backend.lib
    model = setup.fresh_model(recipe)
    opts = optimizers(setup.task, model, recipe, setup.backend)
    saved = record.checkpoint(lambda path: lib.load(path, weights_only=True), say)
    rows: list[Any] = []
    if saved is not None:
        state, rows = saved  # a row without its checkpoint is made again
        model.load_state_dict(state["model"])
        for part, optimizer_state in state["optimizers"].items():
            opts[part].load_state_dict(optimizer_state)
    for row, times in fit(
        model, setup.task, recipe, setup.data.train, opts,
        backend=setup.backend, device=setup.device, watch={"test": setup.data.test},
        first_epoch=len(rows) + 1, progress=progress,
    ):  # fmt: skip
        rows.append(row)
        record.write_lines("epochs.jsonl", rows)
        keep_samples(record, model, recipe, len(rows))
        states = {part: optimizer.state_dict() for part, optimizer in opts.items()}
        record.write_checkpoint({"model": model.state_dict(), "optimizers": states}, rows, lib.save)
        seconds = sum(value for key, value in times.items() if key.endswith("seconds"))
        clock.note(stage="train", epoch=len(rows), seconds=seconds, **times)
        if recipe.schedule == "constant" and clock.left() < 0 and len(rows) < (recipe.epochs or 0):
            cuts = [
                *record.read_json("cuts.json", []),
                f"the budget ended the training after {len(rows)} of {recipe.epochs} epochs",
            ]
            record.write_json("cuts.json", cuts)
            break
    record.write_weights({name: array(value) for name, value in setup.whole_state(model).items()})
    record.drop_checkpoints()
    say(f"train: {len(rows)} epochs in {duration(sum(e['seconds'] for e in clock.entries if e['stage'] == 'train'))}")


def keep_samples(record: Record, model: Any, recipe: Recipe, epoch: int) -> None:
    """A grid of the same noise every few epochs, of models that generate."""
    assert recipe.epochs is not None
    from replab.tasks import samples

    if not samples.can_draw(model) or (epoch not in (1, recipe.epochs) and epoch % max(1, recipe.epochs // 10)):
        return
    from replab.figures.samples import png

    record.write_bytes(f"samples/epoch-{epoch:04d}.png", png(samples.draw(model, samples.GRID, recipe.seed)))


def trained_model(record: Record, setup: Setup, recipe: Recipe) -> Any:
    """The run's model with its weights, in eval mode."""
    model = setup.fresh_model(recipe)
    load_weights(model, record, setup.backend)
    return model.eval()


def load_weights(model: Any, record: Record, backend: Any) -> None:
    state = {name: backend.lib.from_numpy(value.copy()) for name, value in record.weights().items()}
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        text = " ".join(str(error).split())[:200]
        raise RunError(f"run {record.id}: the weights do not fit the model ({text})") from None


def finish_trained(record: Record, setup: Setup, recipe: Recipe, clock: Clock) -> None:
    """What the task fits on training images for its evaluation (clusters and their names), kept as plain arrays."""
    if not setup.task.finishes or record.has("fitted.npz"):
        return
    model, train = trained_model(record, setup, recipe), setup.data.train
    batches = watching_batches(model, recipe, train, train, setup.device)
    seen = evaluate(model, setup.task, batches, setup.backend, setup.device)
    record.write_predictions(setup.task.finish(seen.outputs, train, recipe.seed), "fitted.npz")
    clock.note(stage="evaluate", seconds=seen.seconds)


def evaluate_trained(record: Record, setup: Setup, recipe: Recipe, clock: Clock, learner: Setup) -> None:
    """The test images, once, by the model of the last epoch."""
    if record.has("metrics.json"):
        return
    model = trained_model(record, setup, recipe)
    part = learner.part(model)
    batches = watching_batches(part, recipe, learner.data.train, learner.data.test, setup.device)
    found = evaluate(part, setup.task, batches, setup.backend, setup.device)
    test = setup.data.test
    kept, metrics = dict(found.outputs), dict(found.metrics)
    fitted = record.predictions("fitted.npz") if record.has("fitted.npz") else {}
    more, arrays = setup.task.conclude(model, batches, setup.data, kept, fitted, recipe.batch_size)
    metrics, kept = metrics | more, kept | arrays
    if test.labels is not None:
        kept["labels"] = test.labels
    if "logits" in kept:
        wrong = most_confident_mistakes(kept["logits"], kept["labels"])
        kept |= {"mistake_index": wrong, "mistake_pixels": test.pixels[wrong]}
    record.write_predictions(kept)
    if setup.task.name == "classify" and setup.backend.name == "torch":
        explain.keep(record, model, setup, recipe, kept["logits"], kept["labels"])
    clock.note(stage="evaluate", seconds=found.seconds)
    traced = trace(model, setup.data.spec)
    few = Batches(
        test.subset(slice(0, 64)), 16, normalise=normalisation(setup.data.train, recipe.normalise), device=setup.device
    )
    rate = len(test) / found.seconds
    if part is not model:  # a head's speed on features is not the model's on images
        rate = few.size / evaluate(model, setup.task, few, setup.backend, setup.device).seconds
    facts = {
        "unsteadiness": checks.unsteadiness(model, setup, few, kept["logits"]) if "logits" in found.outputs else None,
        "parameters": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "peak_memory": peak_memory(setup.device),
        "inference_images_per_second": rate,
        "structure": str(model),
        "macs": traced.macs,
        "layers": [asdict(layer) for layer in traced.layers],
        "table": traced.table(),
    }
    record.write_json("facts.json", facts)
    record.write_json("metrics.json", metrics)

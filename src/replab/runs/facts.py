"""The facts of a finished run as (name, text) lines, from its folder alone, for terminal, Markdown and notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from replab import tasks
from replab.records.trial import Trial
from replab.records.values import Values
from replab.runs import protocol_costs
from replab.search.rounds import rounds
from replab.settings.recipe import Recipe
from replab.settings.rules import AUTO, FITTED_HEADS
from replab.settings.searched import stretched
from replab.settings.words import count, duration

CONVERGED = 1e-6  # largest entry of the gradient at which a fitted logistic regression has converged
SHOWN = (  # settings with a line of their own
    "model", "params", "data", "seed", "batch_size", "optimizer", "lr", "epochs", "schedule", "unfreeze_every", "head",
    "neighbours", "distance", "metric", "backend", "device", "search.batch", "search.threads", "epochs_at_10k",
    "test_curve",
)  # fmt: skip
STAGES = ("features", "search", "train", "evaluate")


def facts(values: Values) -> list[tuple[str, str]]:
    """What the task measured, then how the number came about."""
    chosen = values.chosen
    lines = tasks.of_run(values.task).section(values)
    lines += _head(values) if chosen.head in FITTED_HEADS else _steps(values)
    lines += [*_settings(chosen), *_model(values), *_made(values)]
    return lines + [("cut", cut) for cut in values.cuts]


def _head(values: Values) -> list[tuple[str, str]]:
    """A head that was fitted at once: it has no rate, epochs, batches or optimizer."""
    chosen, row = values.chosen, values.epochs[-1]
    if chosen.head == "knn":
        return [("head", f"{chosen.neighbours} nearest training images by {chosen.distance} distance of features")]
    slope, iterations = row.get("train_gradient", float("nan")), row.get("train_iterations", 0)
    ended = "converged" if slope <= CONVERGED else "NOT converged"
    text = f"{ended} after {iterations:.0f} iterations of L-BFGS (largest gradient {slope:.1e})"
    return [("head", f"logistic regression, L2 {chosen.weight_decay:.3g}, {text}")]


def _steps(values: Values) -> list[tuple[str, str]]:
    chosen, lines = values.chosen, []
    if chosen.unfreeze_every:
        epochs = "epoch" if chosen.unfreeze_every == 1 else f"{chosen.unfreeze_every} epochs"
        lines.append(("unfreezing", f"the head alone, then one more stage every {epochs}"))
    return [
        *lines,
        ("learning rate", f"{chosen.lr:.4g} ({_rate_by(values)})"),
        ("epochs", f"{chosen.epochs} ({_epochs_by(values.recipe)})"),
        ("batch size", str(chosen.batch_size)),
        *_processes(values),
        ("optimizer", f"{chosen.optimizer}, schedule {chosen.schedule}"),
    ]


def _rate_by(values: Values) -> str:
    if values.trials:
        return f"from {count(len(values.trials), 'trial')}"
    return "given" if values.recipe.lr is not None else "by a range test"


def _epochs_by(recipe: Recipe) -> str:
    if recipe.epochs_at_10k is not None:
        return "by the number of images" if recipe.budget is None else "by the budget"
    within = ", within the budget" if recipe.budget is not None else ""
    return f"given{within}" if recipe.epochs else "the best trial's best epoch"


def _protocol(recipe: Recipe) -> str:
    """Its name, and the labels of what was not left to it."""
    protocol = Recipe.of_protocol(recipe.protocol)
    rules = {
        "epochs": recipe.epochs_at_10k is not None,
        "augment": protocol.augment == AUTO,
        "search.space": set(recipe.search.space) <= set(protocol.search.space),  # less what was given
    }
    own = {"model", "params", "data", "seed", "epochs_at_10k", *(key for key, by_rule in rules.items() if by_rule)}
    others = [declared.label for declared, _ in recipe.changed() if declared.key not in own]
    return recipe.protocol + (f"; given: {', '.join(others)}" if others else "")


def _other_protocols(values: Values) -> list[tuple[str, str]]:
    """What others would have taken, of a run whose rate or length was left to its protocol."""
    left_open = values.recipe.lr is None or values.recipe.epochs is None
    if not left_open or values.chosen.head in FITTED_HEADS:
        return []
    text = protocol_costs.line(values)
    return [("other protocols", f"{text} (search and training, by the seconds of this run's epochs)")] if text else []


def _processes(values: Values) -> list[tuple[str, str]]:
    """Of a training that several processes shared."""
    count = values.environment.get("ddp", {}).get("processes", 1)
    if count == 1:
        return []
    batch = values.chosen.batch_size
    text = f"{count} (DistributedDataParallel); global batch {batch}, {batch / count:g} images each"
    if "BatchNorm" in values.facts["structure"]:
        text += "; BatchNorm normalises each process's images by themselves, running statistics are averaged"
    return [("processes", text)]


def _settings(chosen: Recipe) -> list[tuple[str, str]]:
    """Every other setting that is not at its default: a new one appears here by itself."""
    others = chosen.described(without=SHOWN)
    return [("settings", ", ".join(f"{label} {text}" for label, text in others))] if others else []


def _model(values: Values) -> list[tuple[str, str]]:
    chosen, measured, data = values.chosen, values.facts, values.input
    trained = f" ({measured['trainable']:,} trained)" if measured["trainable"] != measured["parameters"] else ""
    skipped = data.get("skipped", [])
    shape = f"{data['channels']}x{data['height']}x{data['width']}"
    images = f"{data['train_images']:,} training, {data['test_images']:,} test images of {shape}"
    return [
        ("model", chosen.model + "".join(f" {k}={v}" for k, v in chosen.params.items())),
        ("parameters", f"{measured['parameters']:,}{trained}"),
        ("MACs per image", f"{measured['macs']:,}" if measured.get("macs") else "not measured"),
        ("data", f"{data['data']}: {images}"),
        *([("skipped", f"{count(len(skipped), 'broken file')}: {', '.join(skipped)}")] if skipped else []),
        ("protocol", _protocol(values.recipe)),
        *_other_protocols(values),
        ("chosen by", _chosen_by(values)),
        *([("search", _search(values))] if values.trials else []),
        (
            "test images",
            "evaluated after every epoch, and at the end" if chosen.test_curve else "evaluated once, at the end",
        ),
        ("seed", str(chosen.seed)),
    ]


def _chosen_by(values: Values) -> str:
    if not values.trials and values.recipe.lr is None:
        return "the loss on training images, as the rate rises; the model is that of the last epoch"
    if not values.trials:
        return "nothing: every setting was given; the model is that of the last epoch"
    images = f"{values.split['validation_images']:,} training images"
    return f"validation loss on {images}, never by test images; the model is that of the last epoch"


def _search(values: Values) -> str:
    """How trials were asked for, and on how many threads each ran; workers are no part of it."""
    search = values.chosen.search
    if search.method == "halving":
        return _halving(values)
    asked = "one after another" if search.batch == 1 else f"up to {search.batch} at once"
    each = f", each on {count(search.threads, 'thread')}" if search.threads else ""
    return f"{count(len(values.trials), 'trial')} {asked}{each}"


def _halving(values: Values) -> str:
    """The rounds, and what they cost beside the first one's trials to their end."""
    recipe, played = values.recipe, rounds(values.recipe, values.trials)
    texts = [f"{len(each)} of {_epochs_of(each)}" for each in played]
    spent = sum(len(trial.losses) for trial in values.trials)
    lengths = [trial.params.get("epochs_at_10k") for trial in played[0]] if played else []
    whole = sum(stretched(recipe, recipe.epochs or 0, length) for length in lengths)
    share = f"; {count(spent, 'epoch')}, {spent / whole:.2f} of the {whole} that all trials in full take"
    return f"successive halving: {', '.join(texts)}{share if whole else ''}"


def _epochs_of(trials: Sequence[Trial]) -> str:
    """How long the trials of a round are; those of a search over lengths differ."""
    lengths = [len(trial.losses) for trial in trials if trial.losses] or [0]
    least, most = min(lengths), max(lengths)
    return count(most, "epoch") if least == most else f"{least} to {count(most, 'epoch')}"


def _made(values: Values) -> list[tuple[str, str]]:
    """Time, memory, machine, versions, and how to make it again."""
    measured, environment, record = values.facts, values.environment, values.record
    versions = {"replab": environment["replab"], "python": environment["python"], **environment["packages"]}
    inference = f"{measured['inference_images_per_second']:,.0f} inference"
    return [
        ("duration", _durations(values.seconds)),
        ("images per second", f"{_rate(values.times):,.0f} training, {inference}"),
        ("peak memory", f"{measured['peak_memory'] / 2**20:,.0f} MiB"),
        ("device", f"{environment['device']} ({environment['processor']}, {count(environment['threads'], 'thread')})"),
        ("backend", values.chosen.backend),
        ("versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("commit", str(environment.get("commit") or "none")),
        ("repeat with", values.recipe.command(record.folder / "recipe.toml") + _together(environment)),
        ("run folder", str(record.folder)),
    ]


def _together(environment: dict[str, Any]) -> str:
    team = environment.get("ddp")
    return f" --ddp {team['processes']}" if team else ""


def _durations(seconds: dict[str, float]) -> str:
    parts = [(stage, seconds[stage]) for stage in STAGES if seconds.get(stage)]
    return f"{duration(sum(s for _, s in parts))} ({', '.join(f'{stage} {duration(s)}' for stage, s in parts)})"


def _rate(times: list[dict[str, Any]]) -> float:
    """Training images per second."""
    entries = [entry for entry in times if entry["stage"] == "train"]
    seconds = sum(entry["train_seconds"] for entry in entries)
    return float(sum(entry["images"] for entry in entries) / seconds) if seconds else 0.0

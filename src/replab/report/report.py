"""A finished record → terminal, Markdown and figures. Reads the run folder alone: no data, no model, no code."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from replab.errors import RunError
from replab.models.adapt import heads
from replab.records.record import Record
from replab.runs import compare as comparison
from replab.runs.audit import audit
from replab.runs.run import Run, finished_runs
from replab.runs.statistics import wilson
from replab.settings.rules import FITTED_HEADS
from replab.tasks import generated
from replab.tasks.classify import confusion_matrix, log_softmax
from replab.training.cost import duration

MISTAKES = 32  # the most confident ones are kept for the gallery


def write(record: Record) -> None:
    """report.md and figures/*.png."""
    if not record.has("metrics.json"):
        raise RunError(f"run {record.id} is not finished; replab resume {record.id} finishes it")
    names = draw(record)
    generated.animate(record)
    record.write_text("report.md", markdown(record, names))


def summary(record: Record) -> list[tuple[str, str]]:
    """The facts of a run, a line each, for the terminal and for Markdown."""
    chosen, facts, seen = (
        record.chosen(),
        record.read_json("facts.json", {}),
        record.read_json("input.json", {}),
    )
    metrics, environment = record.read_json("metrics.json", {}), record.read_json("environment.json", {})
    trials, times = record.trials(), record.read_lines("times.jsonl")
    train_entries = [t for t in times if t["stage"] == "train"]
    n = seen["test_images"]
    lines = []
    if "accuracy" in metrics:
        low, high = wilson(round(metrics["accuracy"] * n), n)
        lines.append(("test accuracy", f"{metrics['accuracy']:.2%} (95 % interval {low:.2%} to {high:.2%}, n = {n:,})"))
        if "loss" in metrics and "kl" not in metrics:
            lines.append(("test loss", f"{metrics['loss']:.4f}"))
        lines.append(("calibration error", f"{metrics['ece']:.2%}"))
    others = finished_runs(record.folder.parent) if chosen.weights or chosen.pretrained else []
    lines += [("against training from scratch", text) for text in comparison.against_scratch(Run(record), others)]
    lines += generated.lines(record)
    if chosen.head in FITTED_HEADS:
        lines.append(("head", heads.describe(chosen, record.read_lines("epochs.jsonl")[-1])))
    if chosen.unfreeze_every:
        lines.append(("unfreezing", f"the head alone, then one stage more every {chosen.unfreeze_every} epochs"))
    lines += [
        (
            "learning rate",
            f"{chosen.lr:.4g}" + (f" (from {len(trials)} trials)" if trials else " (given)"),
        ),
        (
            "epochs",
            f"{chosen.epochs}" + (" (given)" if record.recipe().epochs else " (the best trial's best epoch)"),
        ),
        ("batch size", str(chosen.batch_size)),
        ("optimizer", _optimizer(chosen)),
        ("model", f"{chosen.model}" + "".join(f" {k}={v}" for k, v in chosen.params.items())),
        ("parameters", f"{facts['parameters']:,}" + _trainable(facts)),
        ("MACs an image", f"{facts['macs']:,}" if facts.get("macs") else "not measured"),
        ("data", _data(seen)),
        ("chosen by", _chosen_by(record)),
        ("seed", str(chosen.seed)),
        ("duration", _durations(times)),
        (
            "images a second",
            f"{_rate(train_entries):,.0f} training, {facts['inference_images_per_second']:,.0f} inference",
        ),
        ("peak memory", f"{facts['peak_memory'] / 2**20:,.0f} MiB"),
        ("device", f"{environment['device']} ({environment['processor']}, {environment['threads']} threads)"),
        ("backend", chosen.backend),
        (
            "versions",
            ", ".join(
                f"{k} {v}"
                for k, v in [
                    ("replab", environment["replab"]),
                    ("python", environment["python"]),
                    *environment["packages"].items(),
                ]
            ),
        ),
        ("commit", str(environment.get("commit") or "none")),
        ("repeat with", record.recipe().command(record.folder / "recipe.toml")),
        ("run folder", str(record.folder)),
    ]
    lines += [("cut", str(cut)) for cut in record.read_json("cuts.json", [])]
    stepless = ("learning rate", "epochs", "batch size", "optimizer") if chosen.head in FITTED_HEADS else ()
    return [(name, text) for name, text in lines if name not in stepless]


def facts_table(record: Record) -> str:
    """The summary in Markdown; a bar in a cell, as in p(x|y), would end it."""
    bar = "\\|"
    cells = [(name.replace("|", bar), text.replace("|", bar)) for name, text in summary(record)]
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {text} |" for name, text in cells)])


def markdown(record: Record, figures: list[str]) -> str:
    chosen, facts, seen = (
        record.chosen(),
        record.read_json("facts.json", {}),
        record.read_json("input.json", {}),
    )
    title = f"# {chosen.model} on {seen['data']}"
    pictures = [f"![{name}](figures/{name}.png)\n" for name in figures]
    if record.has("figures/samples.gif"):
        pictures.append("![samples, epoch by epoch](figures/samples.gif)\n")
    parts = [title, facts_table(record), "## Figures", "\n".join(pictures)]
    findings = audit(Run(record), finished_runs(record.folder.parent))
    parts += ["## What might be wrong with this number?"]
    parts += ["\n".join(f"- {'**' if f.warning else ''}{f.sentence}{'**' if f.warning else ''}" for f in findings)]
    if (table := per_class(record)) is not None:
        parts += ["## By class", table]
    parts += ["## Structure", f"```\n{facts.get('table') or facts['structure']}\n```"]
    return "\n\n".join(parts) + "\n"


def per_class(record: Record) -> str | None:
    """Accuracy of each class, with its interval."""
    classes, kept = record.read_json("input.json", {})["classes"], record.predictions()
    if "logits" not in kept or "labels" not in kept:
        return None
    matrix = confusion_matrix(kept["logits"], kept["labels"])
    rows = ["| class | n | accuracy | 95 % interval | most often taken for |", "|---|---|---|---|---|"]
    for index, name in enumerate(classes):
        n, right = int(matrix[index].sum()), int(matrix[index, index])
        low, high = wilson(right, n)
        others = np.where(np.arange(len(classes)) == index, 0, matrix[index])
        wrong = f"{classes[others.argmax()]} ({others.max()})" if others.max() else "–"
        rows.append(f"| {name} | {n:,} | {right / n if n else 0:.2%} | {low:.1%} to {high:.1%} | {wrong} |")
    return "\n".join(rows)


def draw(record: Record) -> list[str]:
    """Every figure that this run has something for; their names, in the report's order."""
    from replab.figures.style import write

    names = []
    for name, make in _figures(record).items():
        with record.replacing(f"figures/{name}.png") as file:
            write(make(), file)
        names.append(name)
    return names


def _figures(record: Record) -> dict[str, Callable[[], Any]]:
    from replab.explain import inside as explain
    from replab.figures import inside
    from replab.figures.calibration import calibration
    from replab.figures.confusion import confusion
    from replab.figures.curves import curves
    from replab.figures.gallery import gallery
    from replab.figures.search import search
    from replab.figures.structure import structure
    from replab.figures.style import short
    from replab.search.search import best

    seen, trials, kept = record.read_json("input.json", {}), record.trials(), record.predictions()
    chosen, facts = record.chosen(), record.read_json("facts.json", {})
    found: dict[str, Callable[[], Any]] = {
        "curves": lambda: curves(record.read_lines("epochs.jsonl"), title=f"{chosen.model} on {seen['data']}"),
    }
    if trials:
        found["search"] = lambda: search([t.to_dict() for t in trials], best(trials, chosen.search.choose).number)
    if "logits" in kept:
        logits, labels = kept["logits"], kept["labels"]
        probability = np.exp(log_softmax(logits.astype(np.float64)))
        found["confusion"] = lambda: confusion(confusion_matrix(logits, labels), seen["classes"])
        found["calibration"] = lambda: calibration(probability.max(1), logits.argmax(1) == labels)
    found |= generated.figures(record, kept, seen)
    if "mistake_pixels" in kept:
        which = kept["mistake_index"]
        found["gallery"] = lambda: gallery(
            kept["mistake_pixels"],
            kept["labels"][which],
            kept["logits"][which].argmax(1),
            probability[which].max(1),
            seen["classes"],
            title="most confident mistakes",
        )
    shown = explain.kept(record)
    said = [f"{seen['classes'][e.label]} → {seen['classes'][e.target]}" for e in shown]
    if shown:
        found["explained"] = lambda: inside.maps(
            [e.pixels for e in shown],
            [e.maps for e in shown],
            [e.scores for e in shown],
            said,
            title="what the answer rests on: the surest right and wrong ones",
        )
    for e, words in zip(shown, said):
        name = "attention-right" if e.label == e.target else "attention-wrong"
        if e.attention is not None and name not in found:  # the surest of each
            found[name] = partial(inside.attention, e.pixels, e.attention, f"CLS attention: {short(words, 28)}")
    if record.has("filters.npy"):
        found["filters"] = lambda: inside.filters(np.load(record.checked("filters.npy"), allow_pickle=False))
    if facts.get("layers"):
        found["structure"] = lambda: structure(
            facts["layers"], chosen.model, (seen["channels"], seen["height"], seen["width"])
        )
    return found


def most_confident_mistakes(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Indices of at most MISTAKES wrong answers, the surest first."""
    wrong = np.flatnonzero(logits.argmax(1) != labels)
    surety = log_softmax(logits[wrong].astype(np.float64)).max(1)
    return wrong[np.argsort(-surety, kind="stable")][:MISTAKES]


def _optimizer(recipe: Any) -> str:
    words = [recipe.optimizer, f"schedule {recipe.schedule}"]
    for key in ("momentum", "weight_decay", "clip_value", "clip_norm", "label_smoothing"):
        if getattr(recipe, key):
            words.append(f"{key.replace('_', ' ')} {getattr(recipe, key):g}")
    return ", ".join([*words, *(f"augment {a}" for a in recipe.augment)])


def _trainable(facts: dict[str, Any]) -> str:
    return f" ({facts['trainable']:,} trained)" if facts["trainable"] != facts["parameters"] else ""


def _chosen_by(record: Record) -> str:
    if not record.trials():
        return "nothing: every setting was given; the model is that of the last epoch"
    held_out = record.read_json("split.json", {})["validation_images"]
    return f"validation loss on {held_out:,} training images, never by test images; the model is that of the last epoch"


def _data(seen: dict[str, Any]) -> str:
    shape = f"{seen['channels']}x{seen['height']}x{seen['width']}"
    return f"{seen['data']}: {seen['train_images']:,} training, {seen['test_images']:,} test images of {shape}"


def _durations(times: list[dict[str, Any]]) -> str:
    parts = [
        (stage, sum(t["seconds"] for t in times if t["stage"] == stage))
        for stage in ("features", "search", "train", "evaluate")
    ]
    return (
        duration(sum(s for _, s in parts)) + " (" + ", ".join(f"{name} {duration(s)}" for name, s in parts if s) + ")"
    )


def _rate(entries: list[dict[str, Any]]) -> float:
    seconds = sum(e["train_seconds"] for e in entries)
    return sum(e["images"] for e in entries) / seconds if seconds else 0.0

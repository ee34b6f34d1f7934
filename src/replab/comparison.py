"""Several finished runs side by side: one row each, best first, and which differences are within noise."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from replab.runs import Run
from replab.statistics import mcnemar, wilson


def row(run: Run) -> dict[str, Any]:
    """The facts a comparison needs, as plain values."""
    metrics, facts, seen, seconds = run.metrics, run.facts, run.input, run.seconds
    n = seen["test_images"]
    low, high = wilson(round(metrics.get("accuracy", 0.0) * n), n)
    return {
        "run": run.id,
        "model": run.chosen.model,
        "data": seen["data"],
        "accuracy": metrics.get("accuracy"),
        "low": low,
        "high": high,
        "loss": metrics.get("loss"),
        "parameters": facts["parameters"],
        "macs": facts.get("macs"),
        "lr": run.chosen.lr,
        "epochs": run.chosen.epochs,
        "seconds": seconds.get("search", 0.0) + seconds.get("train", 0.0),
        "train_seconds": seconds.get("train", 0.0),
        "images_per_second": facts["inference_images_per_second"],
        "seed": run.chosen.seed,
        "backend": run.chosen.backend,
        "cut": bool(run.record.read_json("cuts.json", [])),
    }


def table(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Rows by data set, best accuracy first; `p` is McNemar's against the best run on the same test images."""
    rows = [{**row(run), "_run": run} for run in runs]
    rows.sort(key=lambda r: (r["data"], -(r["accuracy"] or 0.0)))
    best: dict[str, dict[str, Any]] = {}
    for found in rows:
        key = found["_run"].input["fingerprint"]
        leader = best.setdefault(key, found)
        found["p"] = None if leader is found else paired_p(leader["_run"], found["_run"])
    return [{k: v for k, v in found.items() if k != "_run"} for found in rows]


def paired_p(a: Run, b: Run) -> float | None:
    """McNemar's p-value, where both have answers for the same labelled images."""
    one, two = a.predictions, b.predictions
    if "logits" not in one or "logits" not in two or len(one["labels"]) != len(two["labels"]):
        return None
    labels = one["labels"]
    return mcnemar(one["logits"].argmax(1) == labels, two["logits"].argmax(1) == labels)


def write(runs: Sequence[Run], folder: Path) -> Path:
    """comparison figure of several runs: their test curves in one picture."""
    from replab.figures.curves import curves_of
    from replab.figures.style import save

    folder.mkdir(parents=True, exist_ok=True)
    names = unique_names(runs)
    path = folder / "comparison.png"
    save(curves_of({name: run.epochs for name, run in zip(names, runs)}), path)
    return path


def unique_names(runs: Sequence[Run]) -> list[str]:
    models = [run.chosen.model for run in runs]
    return [m if models.count(m) == 1 else f"{m} ({run.id})" for m, run in zip(models, runs)]

"""Several finished runs side by side: one row each, which differences are within noise, and the Pareto front."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from replab.errors import UnknownName
from replab.runs.run import Run
from replab.runs.statistics import mcnemar, paired_difference, wilson

SORTS = {  # column → whether the largest is first
    "accuracy": True, "loss": False, "parameters": False, "macs": False, "seconds": False, "images_per_second": True,
    "model": False, "run": False,
}  # fmt: skip
NOISE = 0.05  # a p-value above this is called noise


def row(run: Run) -> dict[str, Any]:
    """The facts a comparison needs, as plain values."""
    metrics, facts, seen, seconds = run.metrics, run.facts, run.input, run.seconds
    n, accuracy = seen["test_images"], metrics.get("accuracy")
    low, high = (None, None) if accuracy is None else wilson(round(accuracy * n), n)
    return {
        "model": run.chosen.model,
        "data": seen["data"],
        "accuracy": accuracy,
        "low": low,
        "high": high,
        "loss": metrics.get("loss"),
        "parameters": facts["parameters"],
        "macs": facts.get("macs"),
        "lr": run.chosen.lr,
        "epochs": run.chosen.epochs,
        "seconds": seconds.get("train", 0.0),
        "search_seconds": seconds.get("search", 0.0),
        "images_per_second": facts["inference_images_per_second"],
        "seed": run.chosen.seed,
        "backend": run.chosen.backend,
        "cut": "; ".join(run.record.read_json("cuts.json", [])),
        "run": run.id,
    }


def table(runs: Sequence[Run], sort: str = "accuracy") -> list[dict[str, Any]]:
    """Rows by data set, then by `sort`.

    `p` is McNemar's p-value against the most accurate run on the same test images (None: it is that run, or the two
    cannot be paired); `pareto` marks runs that no other beats in both accuracy and training time.
    """
    if sort not in SORTS:
        raise UnknownName("column", sort, SORTS, "--sort takes " + ", ".join(SORTS))
    found = sorted(((run, row(run)) for run in runs), key=lambda pair: -(pair[1]["accuracy"] or 0.0))
    leaders: dict[str, Run] = {}
    for run, facts in found:
        leader = leaders.setdefault(run.input["fingerprint"], run)
        facts["best"] = leader is run
        facts["p"] = None if leader is run else paired_p(leader, run)
    for run, facts in found:
        rivals = [other for one, other in found if one.input["fingerprint"] == run.input["fingerprint"]]
        facts["pareto"] = not any(dominates(rival, facts) for rival in rivals)
    sign = -1 if SORTS[sort] else 1

    def key(facts: dict[str, Any]) -> Any:
        value = facts[sort]
        return facts["data"], value is None, value if isinstance(value, str) else sign * (value or 0)

    return sorted((facts for _, facts in found), key=key)


def dominates(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """a is as good as b in accuracy and time, and better in one."""
    if a["accuracy"] is None or b["accuracy"] is None:
        return False
    as_good = a["accuracy"] >= b["accuracy"] and a["seconds"] <= b["seconds"]
    return as_good and (a["accuracy"] > b["accuracy"] or a["seconds"] < b["seconds"])


def paired_p(a: Run, b: Run) -> float | None:
    """McNemar's p-value, where both have answers for the same labelled images."""
    one, two = a.predictions, b.predictions
    if "logits" not in one or "logits" not in two or len(one["labels"]) != len(two["labels"]):
        return None
    labels = one["labels"]
    return mcnemar(one["logits"].argmax(1) == labels, two["logits"].argmax(1) == labels)


def against_scratch(run: Run, others: Sequence[Run]) -> list[str]:
    """How a run that began with weights made elsewhere stands to the same model from scratch, on the same images."""
    if not (run.recipe.weights or run.recipe.pretrained) or "logits" not in run.predictions:
        return []
    own, found = run.predictions, []
    for other in others:
        alike = (other.input["fingerprint"], other.chosen.model, other.chosen.params)
        begun = other.recipe.weights or other.recipe.pretrained
        if alike != (run.input["fingerprint"], run.chosen.model, run.chosen.params) or begun:
            continue
        theirs = other.predictions
        right = [kept["logits"].argmax(1) == kept["labels"] for kept in (own, theirs)]
        gain, low, high = (100 * value for value in paired_difference(*right))
        found.append(
            f"{gain:+.2f} points (95 % interval {low:+.2f} to {high:+.2f}, McNemar's p {mcnemar(*right):.2g}) over"
            f" {right[1].mean():.2%} of {other.id}"
        )
    return found


def noise(facts: dict[str, Any]) -> str:
    """How a row stands to the best one on its images, in words."""
    if facts["best"]:
        return "best"
    if facts["p"] is None:
        return "not paired"
    return f"p={facts['p']:.2g}" + (", within noise" if facts["p"] > NOISE else "")


def to_csv(rows: Sequence[dict[str, Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def draw(runs: Sequence[Run], folder: Path) -> list[Path]:
    """Two figures: the runs' test curves in one picture, and accuracy against training time."""
    from replab.figures.comparison import accuracy_against_time
    from replab.figures.curves import curves_of
    from replab.figures.style import save

    folder.mkdir(parents=True, exist_ok=True)
    names = unique_names(runs)
    pictures = {
        "comparison.png": curves_of({name: run.epochs for name, run in zip(names, runs)}),
        "accuracy-against-time.png": accuracy_against_time([{**row(run), "name": n} for n, run in zip(names, runs)]),
    }
    for name, figure in pictures.items():
        save(figure, folder / name)
    return [folder / name for name in pictures]


def unique_names(runs: Sequence[Run]) -> list[str]:
    """The model's name where it is the only one of its kind, else with when it was run."""
    models = [run.chosen.model for run in runs]
    return [m if models.count(m) == 1 else f"{m} {run.id[4:15]}" for m, run in zip(models, runs)]

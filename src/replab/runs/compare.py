"""Several finished runs side by side: one row each, which differences are within noise, and the Pareto front."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from replab.errors import ReplabError, UnknownName
from replab.records.seeds import LEVEL, holm
from replab.records.statistics import mcnemar, mcnemar_detectable, paired_difference, wilson
from replab.records.text import table as markdown_table
from replab.records.values import Values
from replab.records.values.answers import Answers
from replab.runs.run import Run
from replab.settings.words import duration
from replab.tasks.metrics import key_of

Row = dict[str, Any]

SORTS = {  # column → whether the largest is first
    "accuracy": True, "loss": False, "parameters": False, "macs": False, "seconds": False, "images_per_second": True,
    "model": False, "run": False,
}  # fmt: skip
NOISE = LEVEL  # a p-value above this is called noise
LEGEND = """\
* no other run on this data is both more accurate and faster to train
p: McNemar's test of two trained models on the same test images, by Holm over this table; not of two architectures, for
   which other seeds are needed (--seeds). "sees 0.8 points": the smallest difference it would see with 80 % power"""


def row(run: Run) -> Row:
    """The facts a comparison needs, as plain values."""
    values = run.values
    metrics, facts, data, chosen = values.metrics, values.facts, values.input, values.chosen
    n, accuracy = data["test_images"], metrics.get("accuracy")
    low, high = (None, None) if accuracy is None else wilson(round(accuracy * n), n)
    return {
        "model": chosen.model,
        "data": data["data"],
        "accuracy": accuracy,
        "low": low,
        "high": high,
        "loss": metrics.get("loss"),
        "metrics": {key_of(name): metrics[key_of(name)] for name in chosen.metric if key_of(name) in metrics},
        "parameters": facts["parameters"],
        "macs": facts.get("macs"),
        "lr": chosen.lr,
        "epochs": chosen.epochs,
        "seconds": values.seconds.get("train", 0.0),
        "search_seconds": values.seconds.get("search", 0.0),
        "images_per_second": facts["inference_images_per_second"],
        "seed": chosen.seed,
        "backend": chosen.backend,
        "cut": "; ".join(values.cuts),
        "run": run.id,
    }


def table(runs: Iterable[Run], sort: str = "accuracy", say: Callable[[str], None] = lambda line: None) -> list[Row]:
    """Rows by data set, then by `sort`; `say` is told of a run that cannot be read, and it is left out.

    `p` is McNemar's p-value against the most accurate run on the same test images (None: it is that run, or the two
    cannot be paired), by Holm over the whole table; `detectable` the difference that could have been seen with 80 %
    power; `pareto` marks runs that no other beats in both accuracy and training time.
    """
    by_data: dict[str, list[tuple[Run, Row]]] = {}
    for run, facts in _readable(runs, say):
        by_data.setdefault(run.values.input["fingerprint"], []).append((run, facts))
    names = data_names([pairs[0][0].values.input for pairs in by_data.values()])
    rows: list[Row] = []
    for fingerprint, pairs in by_data.items():
        pairs.sort(key=lambda pair: -(pair[1]["accuracy"] or 0.0))
        for _, facts in pairs:
            facts["data"] = names[fingerprint]
        _against_the_best(pairs)
        own = [facts for _, facts in pairs]
        mark_front(own)
        rows += own
    tested = [facts for facts in rows if facts["p"] is not None]
    for facts, p in zip(tested, holm([facts["p"] for facts in tested])):
        facts["p"] = p
    check_sort(sort, [key for facts in rows for key in facts["metrics"]])
    sign = -1 if SORTS.get(sort, sort != "brier") else 1

    def key(facts: Row) -> Any:
        value = facts[sort] if sort in SORTS else facts["metrics"].get(key_of(sort))
        return facts["data"], value is None, value if isinstance(value, str) else sign * (value or 0)

    return sorted(sorted(rows, key=lambda facts: -(facts["accuracy"] or 0.0)), key=key)


def check_sort(column: str, metrics: Sequence[str] = ()) -> None:
    """`metrics`: those of the runs, by which they can be sorted too."""
    known = [*SORTS, *dict.fromkeys(metrics)]
    if key_of(column) not in known:
        raise UnknownName("column", column, known, "--sort takes " + ", ".join(known))


def data_names(inputs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Fingerprint → a name that no other images here have: digits, or where --limit differs digits (150 images)."""
    details: list[Callable[[Mapping[str, Any]], str]] = [
        lambda i: f" ({i['train_images']:,} images)",
        lambda i: f" ({i['train_images']:,} images of {i['height']}x{i['width']}, {len(i['classes'])} classes)",
        lambda i: f" ({i['train_images']:,} images, {i['fingerprint'][:8]})",
    ]
    names: dict[str, str] = {}
    for name in dict.fromkeys(i["data"] for i in inputs):
        alike = [i for i in inputs if i["data"] == name]
        texts = [name for _ in alike]
        for detail in details:
            if len(set(texts)) == len(texts):
                break
            texts = [name + detail(i) for i in alike]
        names |= {i["fingerprint"]: text for i, text in zip(alike, texts)}
    return names


def _readable(runs: Iterable[Run], say: Callable[[str], None]) -> Iterator[tuple[Run, Row]]:
    for run in runs:
        try:
            yield run, row(run)
        except ReplabError as error:
            say(f"left out: {error}")
        except (KeyError, TypeError, ValueError, AttributeError) as error:  # JSON of other types than replab writes
            say(f"left out: run {run.id} is not replab's ({type(error).__name__}: {error})")


def _against_the_best(pairs: list[tuple[Run, Row]]) -> None:
    """`best`, `p` and `detectable` of rows on the same images, the most accurate first. Answers are read once."""
    leader = None
    for place, (run, facts) in enumerate(pairs):
        facts["best"], facts["p"], facts["detectable"] = place == 0, None, None
        if len(pairs) == 1:
            return
        try:
            own = Values(run.record).answers  # of its own values, which are let go: answers of many runs fill a memory
        except ReplabError:
            own = None
        if place == 0:
            leader = own
        else:
            facts["p"] = paired_p(leader, own)
            if facts["p"] is not None and leader is not None and own is not None:
                facts["detectable"] = mcnemar_detectable(leader.right, own.right)


def mark_front(rows: Sequence[Row]) -> None:
    """`pareto`: no other row is as good in accuracy and time and better in one. One sweep, the fastest first."""
    best, fastest = -1.0, 0.0  # the best accuracy so far, and the time it first took
    for facts in sorted(rows, key=lambda r: (r["seconds"], -(r["accuracy"] or 0.0))):
        accuracy = facts["accuracy"]
        if accuracy is None:
            facts["pareto"] = True  # what has no accuracy is beaten by none
            continue
        facts["pareto"] = accuracy > best or (accuracy == best and facts["seconds"] == fastest)
        if accuracy > best:
            best, fastest = accuracy, facts["seconds"]


def answers_of(values: Values) -> Answers | None:
    """What another run answered; None where its predictions are missing or damaged: it spoils no other's report."""
    try:
        return values.answers
    except ReplabError:
        return None


def paired_p(one: Answers | None, two: Answers | None) -> float | None:
    """McNemar's p-value, where both have answers for the same labelled images."""
    if one is None or two is None or len(one.labels) != len(two.labels):
        return None
    return mcnemar(one.right, two.right)


def against_scratch(run: Run, others: Sequence[Run]) -> list[str]:
    """How a run that began with weights made elsewhere stands to the same model from scratch, on the same images."""
    own, sentences = run.values, []
    if not (own.recipe.weights or own.recipe.pretrained) or own.answers is None:
        return []
    alike = (own.input["fingerprint"], own.chosen.model, own.chosen.params)
    for other in (one.values for one in others):
        begun = other.recipe.weights or other.recipe.pretrained
        if begun or (other.input["fingerprint"], other.chosen.model, other.chosen.params) != alike:
            continue
        answers = answers_of(other)
        if answers is None or len(answers.labels) != len(own.answers.labels):
            continue
        right = own.answers.right, answers.right
        gain, low, high = (100 * value for value in paired_difference(*right))
        sentences.append(
            f"{gain:+.2f} points (95 % interval {low:+.2f} to {high:+.2f}, McNemar's p {mcnemar(*right):.2g}) over"
            f" {right[1].mean():.2%} of {other.record.id}"
        )
    return sentences


def noise(facts: Row) -> str:
    """How a row stands to the best one on its images, in words."""
    if facts["best"]:
        return "best"
    if facts["p"] is None:
        return "not paired"
    within = f", within noise (sees {100 * facts['detectable']:.2g} points)" if facts["p"] > NOISE else ""
    return f"p={facts['p']:.2g}{within}"


class RunList(list[Run]):
    """Runs that a notebook shows as a table, best first."""

    def _repr_markdown_(self) -> str:
        rows = aligned([cells(facts) for facts in table(self)])
        head = [name for name in (rows[0] if rows else ()) if name not in ("MACs", "lr", "images/s")]
        return markdown_table(head, [[row[name] for name in head] for row in rows])


def cells(facts: Row) -> dict[str, str]:
    """A row's values as they are shown, by column."""
    accuracy, loss = facts["accuracy"], facts["loss"]
    return {
        "model": facts["model"],
        "data": facts["data"],
        "accuracy %": "–" if accuracy is None else f"{accuracy * 100:.2f}" + ("*" if facts["pareto"] else " "),
        "95 %": "–" if facts["low"] is None else f"{facts['low'] * 100:.1f}–{facts['high'] * 100:.1f}",
        "loss": "–" if loss is None else f"{loss:.4f}",
        **{key.replace("_", " "): f"{value:.4f}" for key, value in facts["metrics"].items()},
        "against the best": noise(facts),
        "parameters": f"{facts['parameters']:,}",
        "MACs": f"{facts['macs'] or 0:,}",
        "lr": f"{facts['lr']:.3g}",
        "epochs": f"{facts['epochs']}" + (" cut" if facts["cut"] else ""),
        "train": duration(facts["seconds"]),
        "images/s": f"{facts['images_per_second']:,.0f}",
        "run": facts["run"],
    }


def aligned(rows: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Rows of the same columns, those of metrics that only some runs have too."""
    own = {name: None for row in rows for name in row}
    columns = [name for name in own if name not in (rows[0] if rows else ())]
    head = [name for row in rows[:1] for name in row]
    at = head.index("against the best") if "against the best" in head else len(head)
    return [{name: row.get(name, "–") for name in [*head[:at], *columns, *head[at:]]} for row in rows]


def to_csv(rows: Sequence[Row]) -> str:
    buffer = io.StringIO()
    metrics = dict.fromkeys(key for row in rows for key in row["metrics"])
    plain = [key for key in rows[0] if key != "metrics"]
    writer = csv.DictWriter(buffer, [*plain, *metrics], lineterminator="\n")
    writer.writeheader()
    writer.writerows([{**{key: row[key] for key in plain}, **row["metrics"]} for row in rows])
    return buffer.getvalue()


def draw(runs: Sequence[Run], folder: Path) -> list[Path]:
    """Two figures for each set of images: the runs' test curves in one, accuracy against training time in the other."""
    from replab.figures.comparison import accuracy_against_time
    from replab.figures.curves import curves_of, with_end
    from replab.figures.style import save

    folder.mkdir(parents=True, exist_ok=True)
    names = data_names(list({run.values.input["fingerprint"]: run.values.input for run in runs}.values()))
    paths = []
    for fingerprint, data in names.items():
        alike = [run for run in runs if run.values.input["fingerprint"] == fingerprint]
        own = dict(zip(unique_names(alike), alike))
        end = f"-{file_name(data)}.png" if len(names) > 1 else ".png"
        curves = {name: with_end(run.values.epochs, run.values.metrics) for name, run in own.items()}
        tested = any("test_loss" in row for rows in curves.values() for row in rows[:-1])
        metrics = ("test_loss", "test_accuracy") if tested else ("train_loss", "test_loss", "test_accuracy")
        pictures = {
            f"comparison{end}": curves_of(curves, metrics, title=data),
            f"accuracy-against-time{end}": accuracy_against_time(
                [{**row(run), "name": name} for name, run in own.items()], f"Accuracy against training time: {data}"
            ),
        }
        paths += [save(figure, folder / name) for name, figure in pictures.items()]
    return paths


def file_name(text: str) -> str:
    """digits (1,400 images) → digits-1400-images; /photos/pets.zip → pets"""
    last = re.split(r"[/\\]", text)[-1].replace(".zip", "").replace(",", "")
    return re.sub(r"[^\w.]+", "-", last).strip("-.") or "data"


def unique_names(runs: Sequence[Run]) -> list[str]:
    """The model's name where it is the only one of its kind, else with when it was run."""
    models = [run.values.chosen.model for run in runs]
    times = Counter(models)
    names = [m if times[m] == 1 else f"{m} {run.id[4:15]}" for m, run in zip(models, runs)]
    again = Counter(names)
    return [name if again[name] == 1 else f"{m} {run.id}" for name, m, run in zip(names, models, runs)]  # one second

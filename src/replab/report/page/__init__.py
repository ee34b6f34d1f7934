"""report.html: the report as one file that opens anywhere, with its data, images, script and style inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from replab.records.text import visible
from replab.records.values import Values
from replab.report.page import assets, charts, classes, pictures
from replab.report.page.diagram import diagram
from replab.runs.audit import own_findings
from replab.runs.facts import facts

DRAWN = {  # the script draws these itself
    "curves.png", "search.png", "confusion.png", "gallery.png", "samples.gif", "structure.png", "reconstructions.png",
    "interpolation.png",
}  # fmt: skip
STRUCTURE = 100_000  # characters
NAME = 200  # characters of a class's name


def page(values: Values, figures: Sequence[str]) -> str:
    """The whole page; `figures` are files in figures/, in order."""
    script, css = assets.joined("report.js"), assets.style()
    template = assets.environment().get_template("one_file.html")
    return str(template.render(script=script, css=css, policy=assets.policy(script, css), **content(values, figures)))


def content(values: Values, figures: Sequence[str]) -> dict[str, Any]:
    """What the templates show of a finished run, and `data`, what its script draws."""
    answers = values.answers if values.record.has("predictions.npz") else None
    names = [visible(name)[:NAME] for name in values.classes]
    inside, outside = embedded(values, figures)
    data: dict[str, Any] = {"curves": charts.curves(values.epochs, values.metrics), "frames": pictures.frames(values)}
    data["search"] = charts.search(values.trials, values.chosen_trial)
    data |= {"reconstructions": pictures.reconstructions(values), "walks": pictures.walks(values)}
    if values.facts.get("layers"):
        image = [values.input[side] for side in ("channels", "height", "width")]
        data["diagram"] = diagram(values.facts["layers"], image)
    matrix, table = None, []
    if answers is not None:
        matrix, table = classes.confusion(values, answers), classes.table(values, answers)
        data["examples"] = classes.examples(values, answers)
        data["classes"] = named(names, matrix, data["examples"])
    lines = [(visible(name), visible(text)) for name, text in facts(values)]
    return {
        "title": visible(values.title),
        "run": values.record.id,
        "headline": lines[:3],
        "facts": [line for line in lines[3:] if line[0] not in ("repeat with", "run folder")],
        "repeat": [line for line in lines if line[0] in ("repeat with", "run folder")],
        "findings": own_findings(values),
        "names": names,
        "confusion": matrix,
        "by_class": table,
        "figures": inside,
        "left_out": outside,
        "structure": visible(values.facts.get("table") or values.facts["structure"], keep="\n")[:STRUCTURE],
        "data": data,
    }


def named(names: list[str], matrix: dict[str, Any], kept: dict[str, Any] | None) -> dict[int, str]:
    """The names that the script needs: those of the matrix and of the kept images, not of every class there is."""
    used = {*matrix["classes"], *(c for item in (kept["items"] if kept else []) for c in item[1:3])}
    return {i: names[i] for i in sorted(used)}


def embedded(values: Values, figures: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """(title, image) of the figures that the script does not draw itself; names of those that would be too much."""
    inside, outside, used = [], [], 0
    for name in figures:
        if name in DRAWN:
            continue
        url = pictures.figure_url(values.record.read_bytes(f"figures/{name}"))
        used += len(url)
        if used > pictures.FIGURES:
            outside.append(name)
        else:
            inside.append((name.rpartition(".")[0].replace("_", " "), url))
    return inside, outside

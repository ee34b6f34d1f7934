"""A finished run folder → report.md, report.html, figures/. Reads that folder and nothing else: no data, no model."""

from __future__ import annotations

from replab import interruption, tasks
from replab.errors import RunError
from replab.figures.figure import TASK, in_order
from replab.records.record import Record
from replab.records.values import Values
from replab.report.markdown import markdown
from replab.report.page import page


def write(record: Record, theme: str = "") -> None:
    """All of it, anew; the figures for light or dark pages."""
    if not record.has("metrics.json"):
        raise RunError(f"run {record.id} is not finished; replab resume {record.id} finishes it")
    values = Values(record)
    figures = draw(values, theme)
    record.write_text("report.md", markdown(values, figures))
    record.write_text("report.html", page(values, figures))


def draw(values: Values, theme: str = "") -> list[str]:
    """Write every figure that this run has something for; their file names, in the report's order."""
    from replab.figures import style

    names, own = [], {(TASK, name): make for name, make in tasks.of_run(values.task).figures(values).items()}
    shared = {(place, name): make for place, name, make in in_order()}
    for key in sorted([*own, *shared], key=lambda key: key[0]):
        interruption.heed()
        figure = own[key]() if key in own else shared[key](values)
        if figure is not None:
            with values.record.replacing(f"figures/{key[1]}.png") as file:
                style.write(figure, file, theme=theme)
            names.append(f"{key[1]}.png")
    return [*names, *animate(values.record)]


def animate(record: Record) -> list[str]:
    """samples.gif of the grids that were kept during training, where there are any."""
    from replab.figures.samples import animated

    pictures = sorted(record.path("samples").glob("epoch-*.png"))
    if not pictures:
        return []
    record.write_bytes("figures/samples.gif", animated(pictures))
    return ["samples.gif"]

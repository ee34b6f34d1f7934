"""Runs that one command made of several seeds: one report of all of them, in groups/ beside the runs.

group.json says which runs they are, so that `replab runs` lists the group and `replab report NAME` writes it again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from replab.errors import ReplabError, RunError
from replab.files import read, write_atomic
from replab.records.record import Record
from replab.records.text import escape, table, visible
from replab.report.page import assets, pictures
from replab.runs import over_seeds
from replab.runs.over_seeds import Group
from replab.runs.run import Run
from replab.settings.words import count, duration

GROUPS, FILE, FIGURE = "groups", "group.json", "seeds.png"
LARGEST = 2**20  # bytes of group.json
HEAD = ("model", "seeds", "mean", "± over seeds", "test images", "95 % of both")


def write(runs: Sequence[Run], theme: str = "") -> Path:
    """report.md, report.html and the figure; → their folder."""
    from replab.figures.seeds import draw_seeds
    from replab.figures.style import save

    found = over_seeds.groups(runs)
    folder = runs[0].folder.parent / GROUPS / name_of(runs)
    models = ", ".join(dict.fromkeys(group.name for group in found) or [runs[0].values.chosen.model])
    title = f"{models} on {runs[0].values.input['data']}"
    folder.mkdir(parents=True, exist_ok=True)
    save(draw_seeds([drawn(group) for group in found], title), folder / FIGURE, theme=theme)
    shown = {
        "title": f"{title}, {count(len({run.values.chosen.seed for run in runs}), 'seed')}",
        "what": f"Test {found[0].what}{' in %' if found[0].unit else ''}" if found else "Runs",
        "groups": [row(group) for group in found],
        "pairs": over_seeds.comparisons(found) if found else [],
        "redrawn": over_seeds.redrawn(runs),
        "runs": [each(run) for run in runs],
        "command": str(runs[0].values.environment.get("command", "")),
    }
    write_atomic(folder / "report.md", markdown(shown).encode())
    write_atomic(folder / "report.html", page(shown, folder / FIGURE).encode())
    summary = {"runs": [run.id for run in runs], "title": shown["title"], "means": [brief(g) for g in found]}
    write_atomic(folder / FILE, (json.dumps(summary, indent=1, ensure_ascii=False) + "\n").encode())
    return folder


def name_of(runs: Sequence[Run]) -> str:
    """20261117-221530-mlp-digits-3-runs: that of its first run, which no other group has."""
    return f"{runs[0].id}-{len(runs)}-runs"


def drawn(group: Group) -> dict[str, Any]:
    return {
        "name": group.name, "what": group.what, "values": list(group.values.values()), "mean": group.summary.mean,
        "spread": group.summary.spread, "interval": group.interval, "epochs": [run.values.epochs for run in group.runs],
    }  # fmt: skip


def brief(group: Group) -> str:
    """mlp 94.52 ± 0.32 %"""
    spread = "" if group.summary.spread is None else f" ± {group.text(group.summary.spread)}"
    return f"{group.name} {group.text(group.summary.mean)}{spread}{group.unit}"


def row(group: Group) -> tuple[str, ...]:
    mean, spread, n, images = group.summary
    both = " to ".join(group.text(end) for end in group.interval) if group.interval else "–"
    numbers = (group.text(mean), *("–" if value is None else group.text(value) for value in (spread, images)))
    return visible(group.name), str(n), *numbers, both


def each(run: Run) -> tuple[str, ...]:
    """One line per run: its id leads to its own report."""
    values = run.values
    metrics = values.metrics
    accuracy = f"{metrics['accuracy']:.2%}" if "accuracy" in metrics else "–"
    loss = f"{metrics['loss']:.4f}" if "loss" in metrics else "–"
    chosen, seconds = values.chosen, values.seconds
    spent = duration(seconds.get("search", 0.0) + seconds.get("train", 0.0))
    return run.id, str(chosen.seed), accuracy, loss, f"{chosen.lr:.3g}", str(len(values.epochs)), spent


RUNS = ("run", "seed", "test accuracy", "test loss", "learning rate", "epochs", "search and training")
MEANING = (
    "± is the standard deviation over seeds. “Test images” is how far one run's number would move on other test images"
    " of the same kind, a standard error. “95 % of both” is the interval of the mean by a bootstrap that draws seeds"
    " and images anew; with few seeds it is a little too narrow."
)


def markdown(shown: dict[str, Any]) -> str:
    head, line, *rows = table(RUNS, shown["runs"]).split("\n")
    for i, (id, *_) in enumerate(shown["runs"]):
        rows[i] = rows[i].replace(escape(id), f"[{escape(id)}](../../{id}/report.md)", 1)
    parts = [f"# {escape(shown['title'])}"]
    if shown["groups"]:
        parts += [f"{shown['what']}:", table(HEAD, shown["groups"]), MEANING]
    parts += [escape(shown["redrawn"]), f"![seeds]({FIGURE})"]
    if shown["pairs"]:
        parts += ["## Compared", "\n".join(f"- **{escape(pair)}**: {escape(text)}" for pair, text in shown["pairs"])]
    parts += ["## Runs", "\n".join([head, line, *rows])]
    return "\n\n".join([*parts, f"Made by `{visible(shown['command'])}`."]) + "\n"


def page(shown: dict[str, Any], figure: Path) -> str:
    """The same as one file that opens anywhere."""
    css = assets.style()
    template = assets.environment().get_template("seeds.html")
    image = pictures.figure_url(figure.read_bytes())
    rest = {"head": HEAD, "run_head": RUNS, "meaning": MEANING, "image": image}
    return str(template.render(css=css, policy=assets.policy("", css), **rest, **shown))


def listed(runs: Path) -> list[tuple[str, str]]:
    """(name, its numbers in one line) of every group beside these runs, the oldest first."""
    out = []
    for file in sorted((runs / GROUPS).glob(f"*/{FILE}")):
        try:
            values = of(file)
            out.append((file.parent.name, f"{values['title']}: {', '.join(values['means'])}"))
        except (ReplabError, KeyError, TypeError) as error:
            out.append((file.parent.name, f"damaged: {error}"))
    return out


def opened(name: str, runs: Path) -> list[Run] | None:
    """The runs of the group of this name or folder; None where there is none."""
    file = next((f for f in (Path(name) / FILE, runs / GROUPS / name / FILE) if f.is_file()), None)
    if file is None:
        return None
    home = file.parent.parent.parent
    return [Run(Record.open(id, home)) for id in of(file)["runs"]]


def of(file: Path) -> dict[str, Any]:
    try:
        values = json.loads(read(file, LARGEST))
        if not isinstance(values, dict) or not isinstance(values.get("runs"), list) or not values["runs"]:
            raise ValueError("it names no runs")
        return values
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{file} is not replab's ({error}); the runs themselves are whole") from None

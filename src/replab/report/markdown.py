"""report.md: the facts, the figures, what might be wrong, the classes and the structure, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from replab.records.statistics import wilson
from replab.records.text import code, escape, table
from replab.records.values import Values
from replab.runs.audit import own_findings
from replab.runs.facts import facts

CLASSES = 40  # with more, the least accurate ones are listed
STRUCTURE = 100_000  # characters


def markdown(values: Values, figures: Sequence[str]) -> str:
    """The whole report; `figures` are files in figures/, in order."""
    parts = [f"# {escape(values.title)}", table(("", ""), facts(values))]
    parts += ["## Figures", "\n".join(f"![{escape(name.rpartition('.')[0])}](figures/{name})\n" for name in figures)]
    parts += ["## What might be wrong with this number?", findings(values)]
    if values.answers is not None:
        parts += ["## By class", by_class(values)]
    structure = str(values.facts.get("table") or values.facts["structure"])
    return "\n\n".join([*parts, "## Structure", code(structure[:STRUCTURE])]) + "\n"


def findings(values: Values) -> str:
    """What this folder alone can tell; `replab audit` also looks at the runs beside it."""
    marks = [f"- **{escape(f.sentence)}**" if f.warning else f"- {escape(f.sentence)}" for f in own_findings(values)]
    beside = f"`replab audit {values.record.id}` also compares the run with other seeds and models beside it"
    return "\n".join([*marks, f"- {beside}."])


def by_class(values: Values) -> str:
    """Accuracy of each class, with its interval; of many classes the least accurate ones and a summary."""
    answers, classes = values.answers, values.classes
    assert answers is not None
    count = np.bincount(answers.labels, minlength=len(classes))
    right = np.bincount(answers.labels[answers.right], minlength=len(classes))
    share = right / np.maximum(count, 1)
    shown, before = np.arange(len(classes)), ""
    if len(classes) > CLASSES:
        present = np.flatnonzero(count)
        shown = present[np.argsort(share[present], kind="stable")][:CLASSES]
        low, middle, high = np.quantile(share[present], [0.25, 0.5, 0.75]) if len(present) else (0.0, 0.0, 0.0)
        before = (
            f"The {len(shown)} least accurate of {len(classes):,} classes. Over all of them the accuracy per class has"
            f" the quartiles {low:.2%}, {middle:.2%} and {high:.2%}; {int((share[present] == 1).sum()):,} classes are"
            f" always right and {len(classes) - len(present):,} have no test images.\n\n"
        )
    rows = []
    for index in shown:
        wrong = answers.predicted[(answers.labels == index) & ~answers.right]
        taken_for, often = np.unique(wrong, return_counts=True)
        worst = f"{classes[taken_for[often.argmax()]]} ({often.max()})" if len(wrong) else "–"
        low, high = wilson(int(right[index]), int(count[index]))
        rows.append((classes[index], f"{count[index]:,}", f"{share[index]:.2%}", f"{low:.1%} to {high:.1%}", worst))
    return before + table(("class", "n", "accuracy", "95 % interval", "most often taken for"), rows)

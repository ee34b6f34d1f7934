"""The structure diagram as plain values: boxes from input to output, repetitions folded, shapes between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def diagram(layers: Sequence[Mapping[str, Any]], image: Sequence[int]) -> dict[str, Any]:
    """Groups of boxes in order; `times` says how often a group comes, its numbers are the sums over all times."""
    from replab.figures.structure import big, bounded, boxes_of, fold, in_order

    total = sum(int(layer.get("parameters") or 0) for layer in layers)
    groups = []
    for group in bounded(fold(boxes_of(in_order(layers)))):
        boxes = []
        for box in group.boxes:
            share = box.parameters / total if total else 0.0
            facts = [f"{box.parameters:,} parameters ({share:.1%})"] if box.parameters else []
            facts += [f"{big(box.macs)} MACs"] if box.macs else []
            boxes.append({
                "title": " · ".join([f"{box.kinds[0]} {box.description}".strip(), *box.kinds[1:]])[:120],
                "name": box.name[:80],
                "text": ", ".join(facts),
                "shape": shape(box.shape),
                "share": round(100 * share**0.5),  # the root lets small shares show
            })  # fmt: skip
        groups.append({"times": group.times, "boxes": boxes})
    return {"input": shape(image), "groups": groups}


def shape(sides: Sequence[int] | None) -> str:
    return " × ".join(map(str, sides)) if sides else ""

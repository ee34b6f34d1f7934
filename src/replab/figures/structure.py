"""A network as boxes, top to bottom: shapes on arrows, tint by share of parameters, repetitions folded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from replab.figures import style
from replab.figures.figure import figure

if TYPE_CHECKING:
    from replab.records.values import Values

WIDE, TALL, PITCH = 3.7, 0.42, 0.74  # a box, and from one box to the next; inches
LONGEST = 14  # boxes in a column
MOST = 98  # boxes of a figure: seven columns
MARGIN, BETWEEN = 0.75, 1.1  # left of the first column (where ×N stands), between columns
GAP, JOIN = 0.1, 0.14  # between boxes of one row; below them, until their lines meet
LETTER, SMALLEST = 0.0086, 5  # inches of a letter per point of its size; points that can still be read
PERIOD = 12  # the longest pattern that is looked for


@dataclass(frozen=True)
class Box:
    """A layer together with the norms and activations that follow it, perhaps several times over."""

    name: str
    kinds: tuple[str, ...]
    description: str  # of the first: "3×3, 64→128"
    shape: tuple | None
    parameters: int
    macs: int
    beside: tuple[Box, ...] = ()  # layers called on the same tensors, drawn in the same row

    def like(self, other: Box) -> bool:
        mine, theirs = (
            (self.kinds, self.description, self.shape, len(self.beside)),
            (other.kinds, other.description, other.shape, len(other.beside)),
        )
        return mine == theirs


@dataclass(frozen=True)
class Group:
    """Boxes that come `times` times one after another; their numbers are the sums over all times."""

    boxes: tuple[Box, ...]
    times: int


@figure(place=100)
def structure(values: Values) -> Figure | None:
    """The model's layers, as they were traced when it was evaluated."""
    if not values.facts.get("layers"):
        return None
    image = tuple(values.input[side] for side in ("channels", "height", "width"))
    return draw_structure(values.facts["layers"], values.chosen.model, image)


def draw_structure(layers: Sequence, title: str = "", image: Sequence[int] | None = None) -> Figure:
    """Layers in the order of calls: objects or dicts with name, kind (or type), shape, parameters, macs.

    Those of explain.structure.trace also say a description, and whether they are a leaf. Shapes are without
    the batch; `image` is the shape of what goes in. The totals count layers that never ran, too.
    """
    if not layers:
        return style.message("this network has no layers to show", title)
    groups = bounded(fold(boxes_of(in_order(layers))))
    columns = arrange(groups)
    parameters = sum(int(field(layer, "parameters") or 0) for layer in layers)
    macs = sum(int(field(layer, "macs") or 0) for layer in layers)
    total = f"{parameters:,} parameters" + (f", {big(macs)} multiply-adds per image" if macs else "")
    width = MARGIN + len(columns) * WIDE + (len(columns) - 1) * BETWEEN + 0.35
    rows = max(sum(len(group.boxes) for group in column) for column in columns)
    height = 0.95 + rows * PITCH + 0.4
    width = max(width, 4.6)
    figure = Figure(figsize=(width, height), facecolor="white", dpi=style.DPI)
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))  # coordinates are inches, y down
    ax.set(xlim=(0, width), ylim=(height, 0))
    ax.set_axis_off()
    heading = {"ha": "center", "va": "top", "fontweight": "bold"}
    ax.text(width / 2, 0.12, style.plain(title or "Structure"), fontsize=style.TITLE, color=style.INK, **heading)
    ax.text(width / 2, 0.4, total, ha="center", va="top", fontsize=style.LABEL, color=style.GREY)
    shape: Sequence[int] | None = image
    below: tuple[float, float] | None = None  # the foot of the last box of the column before
    joined = 0.0  # inches that the lines of boxes side by side need to meet
    for i, column in enumerate(columns):
        x, y = MARGIN + i * (WIDE + BETWEEN), 1.0
        if below is not None:
            turn = x - BETWEEN / 2
            route = [(below[0], below[1]), (below[0], below[1] + 0.2), (turn, below[1] + 0.2), (turn, 0.68)]
            route += [(x + WIDE / 2, 0.68)]
            ax.plot(*zip(*route), color=style.GREY, linewidth=1, solid_joinstyle="round")
        for group in column:
            top = y
            for box in group.boxes:
                row = (box, *box.beside)
                wide = (WIDE - GAP * (len(row) - 1)) / len(row)
                middles = [x + place * (wide + GAP) + wide / 2 for place in range(len(row))]
                arrow(ax, x + WIDE / 2, y - (PITCH - TALL) + joined, y, shape, middles)
                joined = JOIN if len(row) > 1 else 0.0
                for middle, one in zip(middles, row):
                    draw_box(ax, middle - wide / 2, y, one, parameters, wide)
                    if joined:
                        foot = y + TALL
                        ax.plot([middle, x + WIDE / 2], [foot, foot + joined], color=style.GREY, linewidth=1, zorder=0)
                shape = box.shape
                y += PITCH
            if group.times > 1:
                bracket(ax, x - 0.1, top, y - (PITCH - TALL), f"×{group.times}")
        below, joined = (x + WIDE / 2, y - (PITCH - TALL) + joined), 0.0
    assert below is not None
    arrow(ax, below[0], below[1], y, shape)
    return figure


def field(layer: object, *names: str):
    """The first of these that the record has, be it a dict or an object."""
    for name in names:
        value = layer.get(name) if isinstance(layer, Mapping) else getattr(layer, name, None)
        if value is not None:
            return value
    return None


def in_order(layers: Sequence) -> list:
    """What ran and is a leaf; a module with parameters of its own comes after its children, as its output."""
    ran = [layer for layer in layers if field(layer, "shape", "output") is not None] or list(layers)
    result = []
    waiting: list[tuple[str, object]] = []  # the innermost is last
    for layer in ran:
        name = str(field(layer, "name") or "")
        while waiting and not name.startswith(waiting[-1][0]):
            result.append(waiting.pop()[1])
        if field(layer, "leaf") is not False:
            result.append(layer)
        elif field(layer, "parameters"):
            waiting.append((f"{name}." if name else "", layer))
    return result + [layer for _, layer in reversed(waiting)]


def boxes_of(layers: Sequence) -> list[Box]:
    """One box per layer, but norms and what has no parameters (activations, dropout) join the box above."""
    boxes: list[Box] = []
    for layer in layers:
        kind, shape = str(field(layer, "kind", "type")), field(layer, "shape", "output")
        parameters, macs = int(field(layer, "parameters") or 0), int(field(layer, "macs") or 0)
        if boxes and field(layer, "beside") and field(layer, "beside") == boxes[-1].name:
            other = Box(
                str(field(layer, "name")), (kind,), str(field(layer, "description") or ""), shape, parameters, macs
            )
            boxes[-1] = replace(boxes[-1], beside=(*boxes[-1].beside, other))
        elif (
            boxes
            and not boxes[-1].beside
            and shape == boxes[-1].shape
            and ("Norm" in kind or (not parameters and "Pool" not in kind))
        ):
            last = boxes[-1]
            boxes[-1] = Box(
                last.name,
                (*last.kinds, kind),
                last.description,
                shape,
                last.parameters + parameters,
                last.macs + macs,
            )
        else:
            description = str(field(layer, "description") or "")
            boxes.append(Box(str(field(layer, "name") or ""), (kind,), description, shape, parameters, macs))
    return boxes


def fold(boxes: Sequence[Box]) -> list[Group]:
    """From each place on, the repeated pattern that covers most becomes one group."""
    groups: list[Group] = []
    start = 0
    while start < len(boxes):
        best_period, best_times = 1, 1
        for period in range(1, min(PERIOD, (len(boxes) - start) // 2) + 1):
            end = start + period
            while end < len(boxes) and boxes[end].like(boxes[end - period]):
                end += 1
            times = (end - start) // period
            if times > 1 and times * period > best_times * best_period:
                best_period, best_times = period, times
        span = boxes[start : start + best_period * best_times]
        summed = []
        for i in range(best_period):
            same = span[i::best_period]
            parameters, macs = sum(box.parameters for box in same), sum(box.macs for box in same)
            summed.append(replace(same[0], parameters=parameters, macs=macs))
        groups.append(Group(tuple(summed), best_times))
        start += len(span)
    return groups


def bounded(groups: Sequence[Group]) -> list[Group]:
    """The groups, or, where they have more than MOST boxes, the first and the last of them around a summary."""
    total = sum(len(group.boxes) for group in groups)
    if total <= MOST:
        return list(groups)
    first, last, middle = list[Group](), list[Group](), list(groups)
    for end, place in ((first, 0), (last, -1)):
        while middle and sum(len(group.boxes) for group in (*end, middle[place])) <= MOST // 2:
            end.append(middle.pop(place))
    left_out = [box for group in middle for box in group.boxes]
    parameters, macs = sum(box.parameters for box in left_out), sum(box.macs for box in left_out)
    more = Box("", (f"… {len(left_out):,} more …",), "", None, parameters, macs)
    return [*first, Group((more,), 1), *reversed(last)]


def arrange(groups: Sequence[Group]) -> list[list[Group]]:
    """Columns of about the same height, none longer than a page unless one group is; groups stay whole."""
    total = sum(len(group.boxes) for group in groups)
    height = math.ceil(total / math.ceil(total / LONGEST))
    columns: list[list[Group]] = [[]]
    for group in groups:
        used = sum(len(other.boxes) for other in columns[-1])
        if columns[-1] and used + len(group.boxes) > height:
            columns.append([])
        columns[-1].append(group)
    return columns


def draw_box(ax: Axes, x: float, y: float, box: Box, total: int, wide: float = WIDE) -> None:
    """Kinds in the first line; name, parameters and multiply-adds in the second."""
    share = box.parameters / total if total else 0.0
    patch = FancyBboxPatch(
        (x, y),
        wide,
        TALL,
        boxstyle="round,pad=0,rounding_size=0.06",
        facecolor=tint(share),
        edgecolor=style.GREY,
        linewidth=0.8,
    )
    ax.add_patch(patch)
    middle = x + wide / 2
    first = " · ".join([f"{box.kinds[0]} {box.description}".strip(), *box.kinds[1:]])
    words = [style.short(box.name, 26)] if box.name else []
    if box.parameters:
        words.append(f"{box.parameters:,}" + (f" ({100 * share:.1f} %)" if share >= 0.0005 else ""))
    if box.macs:
        words.append(f"{big(box.macs)} MAC")
    up = 0.15 if words else TALL / 2
    written(ax, middle, y + up, first, 8, wide)
    written(ax, middle, y + 0.31, "  ·  ".join(words), 6.3, wide)


def written(ax: Axes, x: float, y: float, text: str, points: float, wide: float) -> None:
    """Text as large as fits into a box; what would be too small to read is cut in the middle."""
    fits = wide / (points * LETTER)
    size = points * min(1.0, fits / max(1, len(text)))
    if size < SMALLEST:
        size = min(points, SMALLEST)
        text = style.short(text, int(wide / (size * LETTER)))
    ax.text(x, y, style.plain(text), ha="center", va="center", fontsize=size, color=style.INK)


def arrow(
    ax: Axes, x: float, start: float, end: float, shape: Sequence[int] | None, ends: Sequence[float] = ()
) -> None:
    """From x at `start` down to `end`, there to x or, fanning out, to each of `ends`."""
    look = {"arrowstyle": "-|>", "color": style.GREY, "linewidth": 1, "shrinkA": 0, "shrinkB": 0}
    for place in ends or (x,):
        ax.annotate("", (place, end), (x, start + (JOIN if len(ends) > 1 else 0)), arrowprops=look)
    if len(ends) > 1:
        ax.plot([x, x], [start, start + JOIN], color=style.GREY, linewidth=1)
    if shape:
        text = " × ".join(str(size) for size in shape)
        right = x + 0.08 if len(ends) <= 1 else (x + max(ends)) / 2 + 0.2  # of the lines, fanned out or not
        ax.text(right, (start + end) / 2 - 0.01, text, va="center", fontsize=7, color=style.GREY)


def bracket(ax: Axes, x: float, top: float, bottom: float, text: str) -> None:
    ax.plot([x, x - 0.08, x - 0.08, x], [top, top, bottom, bottom], color=style.RED, linewidth=1.2)
    middle = (top + bottom) / 2
    ax.text(x - 0.13, middle, text, ha="right", va="center", fontsize=9, color=style.RED, fontweight="bold")


def tint(share: float) -> tuple[str, float]:
    """The page's colour for none, sky blue for all the parameters; the root lets small shares show."""
    return style.SKY, math.sqrt(share)


def big(count: int) -> str:
    """1,234 or 12.3 M or 1.82 G."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= 10 * size or (count >= size and unit != "k"):
            return f"{count / size:.3g} {unit}"
    return f"{count:,}"

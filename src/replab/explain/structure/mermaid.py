"""A recorded forward pass as a Mermaid flowchart: skips go dotted into ⊕, repeated blocks are drawn once."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

from replab.explain.structure.dataflow import Node, Shape

# Steps that share the box of the step before them.
_GLUE = re.compile(
    r"\w*(ReLU|ReLU6|ELU|SiLU)|Sigmoid|Tanh|Softmax|Hardswish|Mish|Softplus|Identity|Flatten|Unflatten"
    r"|(Alpha|Feature)?Dropout\d?d?|BatchNorm\dd|GroupNorm|InstanceNorm\dd"
    r"|relu|leaky_relu|gelu|elu|silu|sigmoid|tanh|softmax|dropout|flatten|getitem|select"
)
_SYMBOLS = {"add": "⊕", "mul": "⊗"}
_WORDS = {"getitem": "select"}


@dataclass
class Box:
    lines: list[str]
    scope: tuple[str, ...]
    inputs: list[tuple[int, Shape]]  # boxes, by number
    round: bool = False  # ⊕ and ⊗
    skip: int | None = None  # the input that went round the others
    folds: list[tuple[str, int]] = field(default_factory=list)  # the repeated blocks it stands in, outermost first


def draw(nodes: list[Node], outputs: list[tuple[int, Shape]], blocks: list[str]) -> str:
    """`blocks` are the names of the modules that contain others, in call order."""
    boxes = _boxes(nodes, outputs)
    _mark_skips(boxes)
    for run in _repeats(boxes, blocks):
        boxes = _fold(boxes, run)
    return _text(boxes)


def _boxes(nodes: list[Node], outputs: list[tuple[int, Shape]]) -> dict[int, Box]:
    """One box per node, but glue joins the box it follows if it alone reads it and both are of one block."""
    readers: dict[int, set[int]] = defaultdict(set)
    for i, node in enumerate(nodes):
        for source, _ in node.inputs:
            readers[source].add(i)
    for source, _ in outputs:
        readers[source].add(len(nodes))
    boxes: dict[int, Box] = {}
    home: dict[int, int] = {}  # node → its box
    for i, node in enumerate(nodes):
        sources = list(dict.fromkeys((home[source], shape) for source, shape in node.inputs))
        before = node.inputs[0][0] if len(node.inputs) == 1 else 0
        alone = before != 0 and not node.constants and readers[before] == {i}
        same = _block(node) == _block(nodes[before]) and alone and not boxes[home[before]].round
        if same and _GLUE.fullmatch(node.kind):
            home[i] = home[before]
            boxes[home[i]].lines.append(_line(node))
            continue
        home[i] = i
        symbol = _SYMBOLS.get(node.kind) if len(sources) > 1 else None
        boxes[i] = Box([symbol or _line(node)], node.scope, sources, round=symbol is not None)
    boxes[0].lines.append(_size(nodes[0].shape))
    boxes[len(nodes)] = Box(["output"], (), [(home[source], shape) for source, shape in outputs])
    return boxes


def _block(node: Node) -> tuple[str, ...]:
    return node.scope[:-1] if node.layer else node.scope


def _line(node: Node) -> str:
    constants = [name.rpartition(".")[2] for name in node.constants]
    return " ".join(filter(None, [_WORDS.get(node.kind, node.kind), node.description, *constants]))


def _mark_skips(boxes: dict[int, Box]) -> None:
    """Of two summands, the one that came the shorter way is the skip path."""
    depth: dict[int, int] = {}
    for i, box in boxes.items():
        depth[i] = 1 + max((depth[source] for source, _ in box.inputs), default=-1)
        ways = sorted({source for source, _ in box.inputs}, key=lambda source: depth[source])
        if box.lines == ["⊕"] and len(ways) > 1 and depth[ways[0]] < depth[ways[1]]:
            box.skip = ways[0]


def _repeats(boxes: dict[int, Box], blocks: list[str]) -> list[list[str]]:
    """Runs of sibling blocks that look the same and feed one another, outermost first."""
    siblings: dict[str, list[str]] = defaultdict(list)
    for name in blocks:
        if name:
            siblings[name.rpartition(".")[0]].append(name)
    runs = []
    for _, names in sorted(siblings.items(), key=lambda item: item[0].count(".") + bool(item[0])):
        run: list[str] = []
        for name in names:
            if run and _same(boxes, run[-1], name):
                run.append(name)
                continue
            runs.append(run)
            run = [name]
        runs.append(run)
    return [run for run in runs if len(run) > 1]


def _inside(boxes: dict[int, Box], block: str) -> list[int]:
    return [i for i, box in boxes.items() if block in box.scope]


def _readers(boxes: dict[int, Box], members: list[int]) -> list[tuple[int, int]]:
    """(member, box outside that reads it)"""
    inside = set(members)
    return [(s, i) for i, box in boxes.items() if i not in inside for s, _ in box.inputs if s in inside]


def _exits(boxes: dict[int, Box], members: list[int]) -> set[int]:
    return {member for member, _ in _readers(boxes, members)}


def _same(boxes: dict[int, Box], one: str, other: str) -> bool:
    """Whether `other` repeats `one` on its result and on nothing else, and nothing else reads that result."""
    first, second = _inside(boxes, one), _inside(boxes, other)
    exits, entries = _exits(boxes, first), {s for i in second for s, _ in boxes[i].inputs if s not in second}
    if len(exits) != 1 or exits != entries or len(_exits(boxes, second)) != 1:
        return False
    if any(reader not in second for _, reader in _readers(boxes, first)):
        return False
    return _look(boxes, first) == _look(boxes, second)


def _look(boxes: dict[int, Box], members: list[int]) -> list[tuple]:
    """The block with its boxes numbered from 0 and whatever is outside called -1."""
    local, exits = {i: at for at, i in enumerate(members)}, _exits(boxes, members)
    look = []
    for i in members:
        box = boxes[i]
        inputs = [(local.get(source, -1), shape, source == box.skip) for source, shape in box.inputs]
        look.append((box.lines, inputs, i in exits))
    return look


def _fold(boxes: dict[int, Box], run: list[str]) -> dict[int, Box]:
    """Keep the first block of the run; what read the last one's result reads the first one's."""
    members = [_inside(boxes, block) for block in run]
    if not all(members):
        return boxes  # an outer fold has already dropped it
    [first], [last] = _exits(boxes, members[0]), _exits(boxes, members[-1])
    dropped = {i for block in members[1:] for i in block}
    title = f"{run[0]} … {run[-1].rpartition('.')[2]}"
    for i in members[0]:
        boxes[i].folds.append((title, len(run)))
    rest = {i: box for i, box in boxes.items() if i not in dropped}
    for box in rest.values():
        box.inputs = [(first if source == last else source, shape) for source, shape in box.inputs]
        box.skip = first if box.skip == last else box.skip
    return rest


def _text(boxes: dict[int, Box]) -> str:
    lines = ["flowchart TD"]
    open_folds: list[tuple[str, int]] = []
    groups = 0
    for i, box in boxes.items():
        while open_folds != box.folds[: len(open_folds)]:
            open_folds.pop()
            lines.append("  " * (len(open_folds) + 1) + "end")
        for title, times in box.folds[len(open_folds) :]:
            open_folds.append((title, times))
            lines.append("  " * len(open_folds) + f'subgraph g{groups} ["{_quoted(title)} ×{times}"]')
            groups += 1
        label = _quoted("\n".join(box.lines)).replace("\n", "<br/>")
        left, right = ("((", "))") if box.round else ("([", "])") if not box.scope else ("[", "]")
        lines.append("  " * (len(open_folds) + 1) + f'n{i}{left}"{label}"{right}')
    while open_folds:
        open_folds.pop()
        lines.append("  " * (len(open_folds) + 1) + "end")
    for i, box in boxes.items():
        for source, shape in box.inputs:
            arrow, word = ("-.->", "skip ") if source == box.skip else ("-->", "")
            lines.append(f'  n{source} {arrow}|"{word}{_size(shape)}"| n{i}')
    return "\n".join(lines) + "\n"


def _size(shape: Shape) -> str:
    return "×".join(map(str, shape)) or "1"


def _quoted(text: str) -> str:
    codes = {"#": "#35;", '"': "#quot;", "&": "&amp;", "<": "&lt;", ">": "&gt;"}
    return "".join(codes.get(letter, letter) for letter in text)

"""torch.utils._pytree: a function on every leaf of nested lists, tuples and dicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PyTree = Any


def tree_flatten(tree: Any) -> tuple[list, Any]:
    """The leaves, and the same tree with each leaf's position in its place, for tree_unflatten."""
    leaves: list = []

    def position(leaf: Any) -> int:
        leaves.append(leaf)
        return len(leaves) - 1

    return leaves, tree_map(position, tree)


def tree_unflatten(leaves: Any, treespec: Any) -> Any:
    values = list(leaves)
    return tree_map(values.__getitem__, treespec)


def tree_leaves(tree: Any) -> list:
    return tree_flatten(tree)[0]


def tree_map(func: Callable, tree: Any, *rests: Any) -> Any:
    if isinstance(tree, dict):
        pairs = [(key, tree_map(func, tree[key], *(rest[key] for rest in rests))) for key in tree]
        return type(tree)(pairs)
    if isinstance(tree, (list, tuple)) and type(tree).__name__ != "Size":
        parts = [tree_map(func, *branches) for branches in zip(tree, *rests, strict=True)]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return tree if tree is None else func(tree, *rests)


def tree_map_only(kind: Any, func: Callable, tree: Any) -> Any:
    return tree_map(lambda leaf: func(leaf) if isinstance(leaf, kind) else leaf, tree)


def tree_all(predicate: Callable, tree: Any) -> bool:
    return all(predicate(leaf) for leaf in tree_leaves(tree))


def tree_any(predicate: Callable, tree: Any) -> bool:
    return any(predicate(leaf) for leaf in tree_leaves(tree))

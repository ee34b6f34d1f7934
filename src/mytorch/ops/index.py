"""Indexing, gathering and scattering."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import record, record_view
from ..naming import attach
from ..tensor import Tensor


def steps_of(key: Any, ndim: int) -> tuple[list[tuple], bool, list[Tensor]]:
    """A torch index as NumPy's, whether it is basic (NumPy gives a view), and the tensors in it.

    NumPy treats an int beside index arrays as one more array, which moves dims; torch selects first. So a mixture
    becomes two steps: the ints and slices, then the arrays. An ellipsis that stands for nothing separates arrays in
    NumPy and not in torch, so beside arrays it is written out.
    """
    parts: list[Any] = []
    tensors = []
    basic, numbers = True, False
    for k in key if key.__class__ is tuple else (key,):
        if isinstance(k, Tensor):
            tensors.append(k)
            k = k._array
            if k.dtype.kind == "f":
                raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
            if k.ndim == 0 and k.dtype.kind != "b":
                k = int(k)
        elif isinstance(k, (list, range)):
            k = np.asarray(k) if len(k) else np.zeros(0, np.int64)
        elif isinstance(k, (bool, np.bool_)):
            k = np.asarray(k)
        if isinstance(k, np.ndarray):
            basic = False
            k = k.astype(np.bool_) if k.dtype == np.uint8 else k
        elif isinstance(k, (int, np.integer)):
            numbers = True
        elif isinstance(k, slice) and k.step is not None and k.step <= 0:
            raise ValueError(f"step must be greater than zero, but got {k.step}: use flip() for the other direction")
        parts.append(k)
    if basic:
        return [tuple(parts)], basic, tensors
    where = next((i for i, k in enumerate(parts) if k is Ellipsis), None)
    if where is not None:
        parts[where : where + 1] = [slice(None)] * (ndim - sum(map(_dims_taken, parts)))
    if not numbers:
        return [tuple(parts)], basic, tensors
    first: list[Any] = []
    second: list[Any] = []
    for k in parts:
        if isinstance(k, np.ndarray):
            first += [slice(None)] * (k.ndim if k.dtype.kind == "b" else 1)
            second.append(k)
        else:
            first.append(k)
            if not isinstance(k, (int, np.integer)):
                second.append(slice(None))
    return [tuple(first), tuple(second)], basic, tensors


def _dims_taken(k: Any) -> int:
    if k is None or k is Ellipsis:
        return 0
    return k.ndim if isinstance(k, np.ndarray) and k.dtype.kind == "b" else 1


def part_of(array: np.ndarray, steps: list[tuple]) -> np.ndarray:
    for step in steps:
        array = array[step]
    return array


def put(array: np.ndarray, steps: list[tuple], value: Any) -> None:
    """Write to the indexed place: all steps but the last are basic, hence views."""
    part_of(array, steps[:-1])[steps[-1]] = value


def getitem(input: Tensor, key: Any) -> Tensor:
    a = input._array
    steps, basic, tensors = steps_of(key, a.ndim)
    try:
        out = part_of(a, steps)
    except IndexError as fault:
        raise index_error(fault, a, steps) from None
    shape = a.shape
    if basic:
        index = steps[0]
        if out.__class__ is not np.ndarray:  # a single element: NumPy gives a number, torch a 0-d view
            out = a[(*index, ...)]

        def getitem_backward(g: np.ndarray) -> np.ndarray:
            full = np.zeros(shape, g.dtype)
            full[index] = g
            return full

        return record_view(out, input, getitem_backward, lambda x: np.array(x[index]))

    unique = all(k.dtype.kind == "b" for k in steps[-1] if isinstance(k, np.ndarray))

    def index_backward(g: np.ndarray, *_: np.ndarray) -> tuple:
        full = np.zeros(shape, g.dtype)
        if unique:  # a mask names each element once
            put(full, steps, g)
        else:
            np.add.at(part_of(full, steps[:-1]), steps[-1], g)
        return (full,)

    return record(out, (input,), index_backward, tensors, forward=lambda x: part_of(x, steps))


def index_error(fault: IndexError, a: np.ndarray, steps: list[tuple]) -> Exception:
    masks = [k for k in steps[-1] if isinstance(k, np.ndarray) and k.dtype.kind == "b"]
    if masks and "boolean" in str(fault):
        return IndexError(
            f"The shape of the mask {list(masks[0].shape)} at index 0 does not match the shape of the indexed tensor "
            f"{list(a.shape)} at index 0"
        )
    if "too many indices" in str(fault):
        return IndexError(f"too many indices for tensor of dimension {a.ndim}")
    if "broadcast" in str(fault):
        return IndexError(f"shape mismatch: indexing tensors could not be broadcast together ({fault})")
    return IndexError(str(fault).replace("axis", "dimension"))


METHODS = attach(__getitem__=getitem)

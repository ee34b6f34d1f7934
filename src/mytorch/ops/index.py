"""Indexing, gathering and scattering."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import record, record_view
from ..tensor import Tensor, attach


def plain_index(key: Any) -> tuple[Any, bool, list[Tensor]]:
    """A torch index as NumPy's, whether it is basic (NumPy gives a view), and the tensors in it."""
    parts, basic, tensors = [], True, []
    for k in key if key.__class__ is tuple else (key,):
        if isinstance(k, Tensor):
            tensors.append(k)
            a = k._array
            if a.ndim == 0 and a.dtype.kind in "iu":
                parts.append(int(a))
                continue
            if a.dtype.kind == "f":
                raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
            parts.append(a.view(np.bool_) if a.dtype == np.uint8 else a)
            basic = False
        elif isinstance(k, (list, np.ndarray, bool)):
            parts.append(np.asarray(k, np.int64) if isinstance(k, list) and not k else np.asarray(k))
            basic = False
        else:
            parts.append(k)
    return tuple(parts), basic, tensors


def getitem(input: Tensor, key: Any) -> Tensor:
    a = input._array
    index, basic, tensors = plain_index(key)
    try:
        out = a[index]
    except IndexError as fault:
        raise index_error(fault, a, index) from None
    shape = a.shape
    if basic:

        def getitem_backward(g: np.ndarray) -> np.ndarray:
            full = np.zeros(shape, g.dtype)
            full[index] = g
            return full

        if out.__class__ is not np.ndarray:  # a single element: NumPy gives a number, torch a 0-d view
            out = a[(*index, ...)]
        return record_view(out, input, getitem_backward)

    unique = all(not (isinstance(k, np.ndarray) and k.dtype.kind != "b") for k in index)

    def index_backward(g: np.ndarray) -> tuple:
        full = np.zeros(shape, g.dtype)
        if unique:  # a mask names each element once
            full[index] = g
        else:
            np.add.at(full, index, g)
        return (full,)

    return record(out, (input,), index_backward, tensors)


def index_error(fault: IndexError, a: np.ndarray, index: tuple) -> Exception:
    masks = [k for k in index if isinstance(k, np.ndarray) and k.dtype.kind == "b"]
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

"""Functions x_copy, which give a new tensor where x gives a view, and views by strides."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import linear
from ..naming import attach, named
from ..tensor import Tensor
from . import arrange, shape


def _copy_of(name: str, function: Any) -> Any:
    def op(*args: Any, **kwargs: Any) -> Any:
        out = function(*args, **kwargs)
        return tuple(t.clone() for t in out) if isinstance(out, (tuple, list)) else out.clone()

    op.__name__ = op.__qualname__ = name
    return op


_VIEWS = {
    "diagonal": arrange.diagonal, "expand": shape.expand, "narrow": arrange.narrow, "permute": shape.permute,
    "split_with_sizes": arrange.split_with_sizes, "squeeze": shape.squeeze, "t": shape.t,
    "transpose": shape.transpose, "unbind": arrange.unbind, "unfold": arrange.unfold, "unsqueeze": shape.unsqueeze,
    "view": shape.view,
}  # fmt: skip
COPIES = {f"{name}_copy": _copy_of(f"{name}_copy", view) for name, view in _VIEWS.items()}


def alias_copy(input: Tensor) -> Tensor:
    return input.clone()


def _strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None) -> tuple[Any, Any]:
    """The memory of a tensor, and the places in it that sizes and strides name."""
    a = input._array
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {list(stride)} and {list(size)}")
    if any(s < 0 for s in stride) or (storage_offset or 0) < 0:
        raise RuntimeError(f"as_strided: Negative strides and offsets are not supported, got {list(stride)}")
    # places counted through the tensor's memory, which is laid out as its elements are in order
    base = input._base._array if input._base is not None else a
    start = storage_offset
    if start is None:
        start = (a.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // a.itemsize
    places = np.full((), start, np.int64)
    for n, step in zip(size, stride):
        places = places[..., None] + np.arange(n) * step
    if places.size and places.max() >= base.size:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {start} need more than the "
            f"{base.size} elements there are"
        )
    return base, places


def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Elements by sizes and steps through the memory of a contiguous tensor: a copy, unlike torch's view."""
    base, places = _strided(input, size, stride, storage_offset)
    source = input if input._base is None or input._array is base else input._base
    if not base.flags.c_contiguous:
        source = source.contiguous()
    sizes = source._array.shape

    def back(g: np.ndarray) -> np.ndarray:
        full = np.zeros(int(np.prod(sizes)), g.dtype)
        np.add.at(full, places.reshape(-1), g.reshape(-1))
        return full.reshape(sizes)

    return linear(source, lambda a: a.reshape(-1)[places], back)


def resize_(self: Tensor, *sizes: Any, size: Any = None, memory_format: Any = None) -> Tensor:
    """Another shape in place: the first elements stay, new ones are not set."""
    if self._requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    wanted = tuple(int(n) for n in shape.sizes_of(sizes, size))
    count = int(np.prod(wanted))
    flat = np.zeros(count, self._array.dtype)
    old = self._array.reshape(-1)[:count]
    flat[: old.size] = old
    self._array = flat.reshape(wanted)
    self._version[0] += 1
    return self


def resize_as_(self: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    return resize_(self, the_template._array.shape)


def unsafe_split(input: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    return arrange.split(input, split_size, dim)


def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    return arrange.chunk(input, chunks, dim)


METHODS = attach(as_strided, unsafe_split, unsafe_chunk)
FUNCTIONS = named(alias_copy, as_strided_copy=as_strided, **COPIES)
attach(resize_, resize_as_)

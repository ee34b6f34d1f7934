"""New tensors from values, from NumPy, and from a shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import BOOL, CATEGORY, COMPLEX64, INT64, default, of_array, require_cpu, to_numpy
from .naming import attach
from .ops.shape import sizes_of
from .tensor import Tensor

_PLAIN = {float, int, bool, complex}


def _values(data: Any, dtype: Any) -> np.ndarray:
    """Nested lists, numbers, arrays or tensors as a new array; Python floats take the default dtype."""
    kinds: set = set()
    if isinstance(data, Tensor):
        array = np.array(data._array)
    elif isinstance(data, (np.ndarray, np.generic)):
        array = np.array(data)
    else:
        if isinstance(data, (list, tuple)):
            kinds = _kinds(data)
            if not kinds <= _PLAIN:
                data = _without_tensors(data, _depth(data))
        try:
            array = np.array(data)
        except ValueError:
            raise ValueError("expected sequence of equal length at every dimension: nested lists are ragged") from None
        if dtype is None and array.dtype.kind in "biufc":
            array = array.astype(_promoted(kinds or {array.dtype.type(0).item().__class__}), copy=False)
    if dtype is not None:
        return array.astype(to_numpy(dtype), copy=False)
    if array.dtype.kind in "OUSM":
        raise TypeError(f"new(): invalid data type: tensors hold numbers and booleans, not {array.dtype}")
    of_array(array)
    return array


def _kinds(data: Any) -> set:
    """What nested lists hold: Python's types of numbers, and the dtypes of NumPy's numbers, arrays and tensors."""
    types = set(map(type, data))
    if types <= _PLAIN:
        return types
    kinds = set()
    for d in data:
        if isinstance(d, (list, tuple)):
            kinds |= _kinds(d)
        elif isinstance(d, Tensor):
            kinds.add(d._array.dtype)
        elif isinstance(d, (int, float, complex)) and not isinstance(d, np.generic):
            kinds.add(next(kind for kind in (bool, int, float, complex) if isinstance(d, kind)))
        else:
            kinds.add(np.asarray(d).dtype)
    return kinds


def _promoted(kinds: set) -> np.dtype:
    """The dtype of a list's values: the higher category wins, as between tensors."""
    number = {bool: BOOL, int: INT64, float: default(), complex: np.result_type(default(), COMPLEX64)}
    dtypes = [number.get(kind, kind) for kind in kinds]
    highest = max(CATEGORY[d.kind] for d in dtypes)
    return np.result_type(*[d for d in dtypes if CATEGORY[d.kind] == highest or (highest == 3 and d.kind == "f")])


def _depth(data: Any) -> int:
    """How many dims a nested list has: as many as its first element."""
    if isinstance(data, (list, tuple)):
        return 1 + (_depth(data[0]) if data else 0)
    return data.ndim if isinstance(data, np.ndarray) else 0


def _without_tensors(data: Any, depth: int) -> Any:
    """The lists with arrays for tensors; a tensor in the place of a number must hold one."""
    if isinstance(data, Tensor):
        return data._array if depth else data._number()
    return [_without_tensors(d, depth - 1) for d in data] if isinstance(data, (list, tuple)) else data


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    require_cpu(device)
    return Tensor(_values(data, dtype)).requires_grad_(requires_grad)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Like tensor(), but without a copy where none is needed."""
    require_cpu(device)
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    if isinstance(data, np.ndarray):
        of_array(data)
        return Tensor(data if dtype is None else data.astype(to_numpy(dtype), copy=False))
    return tensor(data, dtype=dtype)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    made = tensor(obj, dtype=dtype, device=device) if copy else as_tensor(obj, dtype, device)
    return made.requires_grad_() if requires_grad else made


def from_numpy(ndarray: np.ndarray) -> Tensor:
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    of_array(ndarray)
    return Tensor(ndarray)


def _made(array: np.ndarray, device: Any, requires_grad: bool) -> Tensor:
    require_cpu(device)
    return Tensor(array).requires_grad_(requires_grad)


def _kind(dtype: Any) -> np.dtype:
    return default() if dtype is None else to_numpy(dtype)


def _shape(sizes: tuple, size: Any) -> tuple:
    shape = tuple([int(s) for s in (sizes_of(sizes) if size is None else size)])
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(shape)}")
    return shape


def zeros(
    *sizes: Any,
    size: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **_: Any,
) -> Tensor:
    return _made(np.zeros(_shape(sizes, size), _kind(dtype)), device, requires_grad)


def ones(
    *sizes: Any,
    size: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **_: Any,
) -> Tensor:
    return _made(np.ones(_shape(sizes, size), _kind(dtype)), device, requires_grad)


def empty(
    *sizes: Any,
    size: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **_: Any,
) -> Tensor:
    return _made(np.empty(_shape(sizes, size), _kind(dtype)), device, requires_grad)


def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    kind = _values(value, None).dtype if dtype is None else to_numpy(dtype)
    return _made(np.full(_shape((size,), None), value, kind), device, requires_grad)


def _like(input: Tensor, dtype: Any) -> tuple[tuple, np.dtype]:
    return input._array.shape, input._array.dtype if dtype is None else to_numpy(dtype)


def zeros_like(
    input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **_: Any
) -> Tensor:
    return _made(np.zeros(*_like(input, dtype)), device, requires_grad)


def ones_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **_: Any) -> Tensor:
    return _made(np.ones(*_like(input, dtype)), device, requires_grad)


def empty_like(
    input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **_: Any
) -> Tensor:
    return _made(np.empty(*_like(input, dtype)), device, requires_grad)


def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **_: Any,
) -> Tensor:
    shape, kind = _like(input, dtype)
    return _made(np.full(shape, fill_value, kind), device, requires_grad)


def arange(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    start, end, step = [v.item() if isinstance(v, Tensor) else v for v in (start, end, step)]
    if end is None:
        start, end = 0, start
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not np.isfinite([start, end]).all():
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    whole = all(isinstance(v, (int, np.integer)) for v in (start, end, step))
    kind = to_numpy(dtype) if dtype is not None else np.dtype(np.int64) if whole else default()
    count = int(np.ceil((end - start) / step)) if not whole else len(range(start, end, step))
    if whole:
        return _made((start + step * np.arange(count)).astype(kind), device, requires_grad)
    return _made((start + step * np.arange(count, dtype=np.float64)).astype(kind), device, requires_grad)


def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    start, end = _ends(start, end, steps, "linspace")
    return _made(np.linspace(start, end, steps, dtype=_kind(dtype)), device, requires_grad)


def _ends(start: Any, end: Any, steps: int, name: str) -> tuple[Any, Any]:
    for word, value in (("start", start), ("end", end)):
        if isinstance(value, Tensor) and value._array.ndim:
            raise RuntimeError(
                f"{name} only supports 0-dimensional start and end tensors, but {word} has {value._array.ndim} dims"
            )
    if steps < 0:
        raise RuntimeError(f"number of steps must be non-negative, but got {steps}")
    return float(start), float(end)


def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    start, end = _ends(start, end, steps, "logspace")
    return _made(np.logspace(start, end, steps, base=base).astype(_kind(dtype)), device, requires_grad)


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    for word, size in (("n", n), ("m", m)):
        if size is not None and size < 0:
            raise RuntimeError(f"{word} must be greater or equal to 0, got {size}")
    return _made(np.eye(n, m, dtype=_kind(dtype)), device, requires_grad)


def _new(function: Any) -> Any:
    """x.new_zeros(...): the same function, with x's dtype unless another is given."""

    def method(self: Tensor, *args: Any, dtype: Any = None, **kwargs: Any) -> Tensor:
        return function(*args, dtype=self._array.dtype if dtype is None else dtype, **kwargs)

    return method


attach(new_zeros=_new(zeros), new_ones=_new(ones), new_empty=_new(empty), new_full=_new(full))

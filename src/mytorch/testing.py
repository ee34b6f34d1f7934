"""torch.testing.assert_close: two tensors, or nested containers of them, agree within a tolerance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .absent import names_in
from .tensor import Tensor

# relative and absolute tolerance by type; all others must be equal
_TOLERANCE = {
    "float16": (1e-3, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol must both be specified or both be unspecified")

    def compare(a: Any, b: Any, where: str) -> None:
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            if a.keys() != b.keys():
                fail(f"The keys of the mappings do not match: {sorted(a)} against {sorted(b)}")
            for key in a:
                compare(a[key], b[key], f"{where}[{key!r}]")
        elif isinstance(a, Sequence) and isinstance(b, Sequence) and not isinstance(a, str):
            if len(a) != len(b):
                fail(f"The length of the sequences mismatch: {len(a)} != {len(b)}")
            for i, (one, other) in enumerate(zip(a, b)):
                compare(one, other, f"{where}[{i}]")
        elif a is None and b is None:
            return
        else:
            compare_numbers(array_of(a, b), array_of(b, a), where)

    def array_of(value: Any, other: Any) -> np.ndarray:
        if isinstance(value, Tensor) != isinstance(other, Tensor):
            raise TypeError(f"No comparison pair was able to handle inputs of type {type(value)} and {type(other)}.")
        return value.detach()._array if isinstance(value, Tensor) else np.asarray(value)

    def compare_numbers(a: np.ndarray, b: np.ndarray, where: str) -> None:
        if a.shape != b.shape:
            fail(f"The values for attribute 'shape' do not match: {a.shape} != {b.shape}.{where}")
        if check_dtype and a.dtype != b.dtype and isinstance(actual, Tensor):
            fail(f"The values for attribute 'dtype' do not match: torch.{a.dtype} != torch.{b.dtype}.{where}")
        defaults = [_TOLERANCE.get(str(x.dtype), (0.0, 0.0)) for x in (a, b)]
        relative = max(d[0] for d in defaults) if rtol is None else rtol
        absolute = max(d[1] for d in defaults) if atol is None else atol
        wrong = ~np.isclose(a, b, rtol=relative, atol=absolute, equal_nan=equal_nan)
        if wrong.any():
            kind = "Scalars" if a.ndim == 0 else "Tensor-likes"
            difference = np.abs(a.astype(np.complex128) - b)[wrong].max()
            fail(
                f"{kind} are not close!\n\nMismatched elements: {wrong.sum()} / {wrong.size}\n"
                f"Greatest absolute difference: {difference} (up to {absolute} allowed, {relative} relative){where}"
            )

    def fail(text: str) -> None:
        raise AssertionError(msg(text) if callable(msg) else msg or text)

    compare(actual, expected, "")


def assert_allclose(actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, **_: Any) -> None:
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=True, check_dtype=False)


__getattr__ = names_in("torch.testing")

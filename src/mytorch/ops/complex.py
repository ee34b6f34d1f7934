"""Complex numbers: their parts and how they are made. A gradient is that for the real part plus i times the other's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import linear, record_view
from ..naming import attach, named
from ..tensor import Tensor
from .elementwise import add, mul
from .pointwise import atan2, cos, sin

COMPLEX = {np.dtype(np.float32): np.complex64, np.dtype(np.float64): np.complex128, np.dtype(np.float16): np.complex64}


def _is_complex(t: Tensor) -> bool:
    return t._array.dtype.kind == "c"


def real(input: Tensor) -> Tensor:
    if not _is_complex(input):
        return input
    kind = input._array.dtype
    return record_view(input._array.real, input, lambda g: g.astype(kind), lambda a: a.real)


def imag(input: Tensor) -> Tensor:
    if not _is_complex(input):
        raise RuntimeError(f"imag is not implemented for tensors with non-complex dtypes, but got {input.dtype}")
    kind = input._array.dtype
    return record_view(input._array.imag, input, lambda g: (g * 1j).astype(kind), lambda a: a.imag)


def conj(input: Tensor) -> Tensor:
    return linear(input, np.conj, np.conj) if _is_complex(input) else input


def conj_physical(input: Tensor) -> Tensor:
    return conj(input) if _is_complex(input) else input.clone()


def view_as_real(input: Tensor) -> Tensor:
    """(...) complex -> (..., 2)."""
    if not _is_complex(input):
        raise RuntimeError(f"view_as_real is only supported for complex tensors, but got {input.dtype}")
    return linear(input, _apart, _together)


def view_as_complex(input: Tensor) -> Tensor:
    """(..., 2) -> (...) complex."""
    if input._array.dtype not in COMPLEX:
        raise RuntimeError(
            f"view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{input.dtype}"
        )
    if not input._array.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input._array.shape[-1] != 2:
        raise RuntimeError(f"Tensor must have a last dimension of size 2, but got {input._array.shape[-1]}")
    return linear(input, _together, _apart)


def _apart(a: np.ndarray) -> np.ndarray:
    return np.stack([a.real, a.imag], -1)


def _together(a: np.ndarray) -> np.ndarray:
    return np.asarray(a[..., 0] + 1j * a[..., 1]).astype(COMPLEX[a.dtype])


def complex(real: Tensor, imag: Tensor) -> Tensor:
    """real + i imag."""
    if real._array.dtype != imag._array.dtype or real._array.dtype not in COMPLEX:
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors of the same dtype but got {real.dtype} and "
            f"{imag.dtype}"
        )
    kind = np.dtype(COMPLEX[real._array.dtype])
    return add(_as_complex(real, kind), mul(_as_complex(imag, kind), 1j))


def _as_complex(t: Tensor, kind: np.dtype) -> Tensor:
    from .broadcast import cast

    return cast(t, kind)


def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """The complex number with this absolute value and angle."""
    if abs._array.dtype != angle._array.dtype:
        raise RuntimeError(f"Expected object of scalar type {abs.dtype} but got scalar type {angle.dtype}")
    return complex(abs * cos(angle), abs * sin(angle))


def angle(input: Tensor) -> Tensor:
    """The direction of a complex number; of a real one 0, or pi below 0."""
    if _is_complex(input):
        return atan2(imag(input), real(input))
    from .broadcast import floating
    from .pointwise import where

    x = floating(input)
    flat = where(Tensor(np.isnan(x._array)), x, x * 0)
    return where(x < 0, flat + float(np.pi), flat)


def resolve_conj(input: Tensor) -> Tensor:
    return input  # nothing is left to be done later here


def is_complex(input: Any) -> bool:
    return _is_complex(input)


METHODS = attach(conj, conj_physical, angle, resolve_conj, resolve_neg=resolve_conj)
FUNCTIONS = named(real, imag, view_as_real, view_as_complex, complex, polar, is_complex)
attach(real=property(real), imag=property(imag), is_complex=is_complex, H=property(lambda t: conj(t).T))
attach(mH=property(lambda t: conj(t).mT), adjoint=lambda t: conj(t).mT)

"""Orthogonal polynomials p_n(x), each by its recurrence p_n = (a x + b) p_(n-1) - c p_(n-2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import Tensor
from .broadcast import floating, promoted, quiet


def _polynomial(name: str, first: Any, step: Any, shifted: bool = False) -> Any:
    """first(x) is p_1; step(k, x) gives the factors of p_(k-1) and p_(k-2) in p_k."""

    def op(x: Any, n: Any) -> Tensor:
        if not isinstance(x, Tensor) and not isinstance(n, Tensor):
            raise TypeError(f"{name}(): needs a tensor, but got two numbers")
        if not isinstance(x, Tensor):
            x = Tensor(np.asarray(x, n._array.dtype))
        x, degree = (floating(t) for t in promoted(x, n))
        z = np.broadcast_arrays(x._array, degree._array)[0].astype(np.float64)
        z = 2 * z - 1 if shifted else z
        wanted = np.trunc(np.broadcast_to(degree._array, z.shape))
        with quiet(all="ignore"):
            before, now = np.ones_like(z), first(z)
            out = np.where(wanted < 0, 0.0, np.where(wanted == 0, before, now))
            for k in range(2, int(wanted.max(initial=0)) + 1):
                a, c = step(k, z)
                before, now = now, a * now - c * before
                out = np.where(wanted == k, now, out)
        return Tensor(np.asarray(out, x._array.dtype))

    op.__name__ = op.__qualname__ = name
    return op


def _chebyshev(k: int, x: np.ndarray) -> tuple:
    return 2 * x, 1


_FIRST = {"t": lambda x: x, "u": lambda x: 2 * x, "v": lambda x: 2 * x - 1, "w": lambda x: 2 * x + 1}
FUNCTIONS = {
    **{f"chebyshev_polynomial_{k}": _polynomial(f"chebyshev_polynomial_{k}", f, _chebyshev) for k, f in _FIRST.items()},
    **{
        f"shifted_chebyshev_polynomial_{k}": _polynomial(f"shifted_chebyshev_polynomial_{k}", f, _chebyshev, True)
        for k, f in _FIRST.items()
    },
    "hermite_polynomial_h": _polynomial("hermite_polynomial_h", lambda x: 2 * x, lambda k, x: (2 * x, 2 * (k - 1))),
    "hermite_polynomial_he": _polynomial("hermite_polynomial_he", lambda x: x, lambda k, x: (x, k - 1)),
    "laguerre_polynomial_l": _polynomial(
        "laguerre_polynomial_l", lambda x: 1 - x, lambda k, x: ((2 * k - 1 - x) / k, (k - 1) / k)
    ),
    "legendre_polynomial_p": _polynomial(
        "legendre_polynomial_p", lambda x: x, lambda k, x: ((2 * k - 1) * x / k, (k - 1) / k)
    ),
}

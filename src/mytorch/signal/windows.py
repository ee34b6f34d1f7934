"""Windows of M points: symmetric, or periodic (sym=False: one point more, of which the last is dropped)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mytorch.creation import _made
from mytorch.dtypes import default, float32, float64, to_numpy
from mytorch.tensor import Tensor

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]  # fmt: skip


def _window(M: int, sym: bool, values: Any, dtype: Any, layout: Any, device: Any, requires_grad: bool) -> Tensor:
    """values(k, n): the window at points k = 0 .. n - 1 of a symmetric one of n."""
    if dtype is not None and dtype not in (float32, float64):
        raise ValueError(f"window functions expect float32 or float64 dtypes, got: {dtype}")
    if layout is not None and str(layout) != "torch.strided":
        raise ValueError(f"window functions are implemented for strided tensors only, got: {layout}")
    kind = default() if dtype is None else to_numpy(dtype)
    if M < 0:
        raise ValueError(f"requires non-negative window length, got M={M}")
    n = M if sym or M <= 1 else M + 1
    made = np.ones(M) if M <= 1 else np.asarray(values(np.arange(n), n))[:M]
    return _made(made.astype(kind), device, requires_grad)


def _cosines(k: np.ndarray, n: int, weights: Iterable[float]) -> np.ndarray:
    terms = [(-1) ** i * a * np.cos(2 * np.pi * i * k / (n - 1)) for i, a in enumerate(weights)]
    return np.sum(terms, 0)


def general_cosine(
    M: int, *, a: Any, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """a[0] - a[1] cos(x) + a[2] cos(2x) - ..."""
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not list(a):
        raise ValueError("Coefficients cannot be empty")
    return _window(M, sym, lambda k, n: _cosines(k, n, a), dtype, layout, device, requires_grad)


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    return _window(M, sym, lambda k, n: _cosines(k, n, (alpha, 1 - alpha)), dtype, layout, device, requires_grad)


def _fixed(name: str, weights: tuple[float, ...]) -> Any:
    def window(
        M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False,
    ) -> Tensor:  # fmt: skip
        return _window(M, sym, lambda k, n: _cosines(k, n, weights), dtype, layout, device, requires_grad)

    window.__name__ = window.__qualname__ = name
    return window


hamming = _fixed("hamming", (0.54, 0.46))
hann = _fixed("hann", (0.5, 0.5))
blackman = _fixed("blackman", (0.42, 0.5, 0.08))
nuttall = _fixed("nuttall", (0.3635819, 0.4891775, 0.1365995, 0.0106411))


def bartlett(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    return _window(M, sym, lambda k, n: 1 - np.abs(2 * k / (n - 1) - 1), dtype, layout, device, requires_grad)


def cosine(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    return _window(M, sym, lambda k, n: np.sin(np.pi * (k + 0.5) / n), dtype, layout, device, requires_grad)


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def values(k: np.ndarray, n: int) -> np.ndarray:
        middle = (n - 1) / 2 if center is None else center
        return np.exp(-np.abs(k - middle) / tau)

    return _window(M, sym, values, dtype, layout, device, requires_grad)


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _window(
        M, sym, lambda k, n: np.exp(-(((k - (n - 1) / 2) / std) ** 2) / 2), dtype, layout, device, requires_grad
    )


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def values(k: np.ndarray, n: int) -> np.ndarray:
        x = 2 * k / (n - 1) - 1
        return np.i0(beta * np.sqrt(np.maximum(1 - x * x, 0))) / np.i0(beta)

    return _window(M, sym, values, dtype, layout, device, requires_grad)

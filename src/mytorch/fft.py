"""torch.fft: Fourier transforms by NumPy. A transform is linear; its gradient is the transform back, unscaled."""

from __future__ import annotations

from typing import Any

import numpy as np

from .creation import _made
from .dtypes import default, to_numpy, unsupported
from .graph import record
from .ops.arrange import roll
from .ops.broadcast import floating
from .ops.complex import conj
from .ops.reduce import axis_of
from .tensor import Tensor

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

_OTHER: dict[Any, Any] = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _checked(input: Tensor, n: int | None, dim: int, norm: Any) -> tuple[Tensor, int]:
    if norm not in _OTHER:
        raise RuntimeError(f'Invalid normalization mode: "{norm}": use backward, forward or ortho')
    if not input._array.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if n is not None and n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    axis = axis_of(dim, input._array.ndim)
    if n is None and not input._array.shape[axis]:
        raise RuntimeError("Invalid number of data points (0) specified")
    return floating(input), axis


def _norm(norm: Any) -> Any:
    return norm


def _sized(a: np.ndarray, n: int, axis: int) -> np.ndarray:
    """Truncated, or padded with zeros, to length n along an axis."""
    size = a.shape[axis]
    if size > n:
        return a[(slice(None),) * axis + (slice(n),)]
    if size < n:
        return np.pad(a, [(0, n - size) if i == axis else (0, 0) for i in range(a.ndim)])
    return a


def _transform(input: Tensor, n: int | None, dim: int, norm: Any, function: Any, back: Any) -> Tensor:
    """fft or ifft along one dim; the gradient is the other one with the other norm."""
    x, axis = _checked(input, n, dim, norm)
    size, is_real, kind = x._array.shape[axis], x._array.dtype.kind != "c", x._array.dtype

    def forward(a: np.ndarray) -> np.ndarray:
        return function(a, n, axis, norm)

    def fft_backward(g: np.ndarray) -> tuple:
        out = _sized(back(g, None, axis, _OTHER[norm]), size, axis)
        return ((out.real if is_real else out).astype(kind),)

    return record(forward(x._array), (x,), fft_backward, forward=forward)


def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: Any = None) -> Tensor:
    return _transform(input, n, dim, norm, np.fft.fft, np.fft.ifft)


def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: Any = None) -> Tensor:
    return _transform(input, n, dim, norm, np.fft.ifft, np.fft.fft)


def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: Any = None) -> Tensor:
    """The first half of a real input's transform; the second is its mirror image."""
    if input._array.dtype.kind == "c":
        raise RuntimeError(f"rfft expects a real input tensor, but got {input.dtype}")
    x, axis = _checked(input, n, dim, norm)
    size, kind = x._array.shape[axis], x._array.dtype
    count = size if n is None else n

    def forward(a: np.ndarray) -> np.ndarray:
        return np.fft.rfft(a, n, axis, norm)

    def rfft_backward(g: np.ndarray) -> tuple:
        whole = np.fft.ifft(_sized(g, count, axis), None, axis, _OTHER[norm])
        return (_sized(whole.real, size, axis).astype(kind),)

    return record(forward(x._array), (x,), rfft_backward, forward=forward)


def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: Any = None) -> Tensor:
    """The real input of n numbers whose rfft this is."""
    x, axis = _checked(input, n, dim, norm)
    half, is_real, kind = x._array.shape[axis], x._array.dtype.kind != "c", x._array.dtype
    count = 2 * (half - 1) if n is None else n
    if count < 1:
        raise RuntimeError(f"Invalid number of data points ({count}) specified")
    out_kind = np.zeros(0, kind).real.dtype

    def forward(a: np.ndarray) -> np.ndarray:
        return np.fft.irfft(a, count, axis, norm).astype(out_kind)

    def irfft_backward(g: np.ndarray) -> tuple:
        out = np.fft.rfft(g, None, axis, _OTHER[norm])
        # every frequency but the first (and, if n is even, the last) stands for its mirror image too
        twice = (slice(None),) * axis + (slice(1, count - out.shape[axis] + 1),)
        out[twice] *= 2
        out = _sized(out, half, axis)
        return ((out.real if is_real else out).astype(kind),)

    return record(forward(x._array), (x,), irfft_backward, forward=forward)


def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: Any = None) -> Tensor:
    """The real transform of the first half of a symmetric input."""
    return irfft(conj(input), n, dim, _OTHER.get(norm, norm))


def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: Any = None) -> Tensor:
    if input._array.dtype.kind == "c":
        raise RuntimeError(f"ihfft expects a real input tensor, but got {input.dtype}")
    return conj(rfft(input, n, dim, _OTHER.get(norm, norm)))


def _axes(input: Tensor, s: Any, dim: Any) -> list[tuple[int, int | None]]:
    """(dim, size) for each dim to transform."""
    rank = input._array.ndim
    sizes = None if s is None else [s] if isinstance(s, int) else list(s)
    dims = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if dims is None:
        dims = list(range(rank)) if sizes is None else list(range(rank - len(sizes), rank))
    if sizes is not None and len(sizes) != len(dims):
        raise RuntimeError(f"When given, dim and shape arguments must have the same length, but got {dims} and {sizes}")
    if sizes is not None and len(sizes) > rank:
        raise RuntimeError(f"Got shape with {len(sizes)} values but input tensor only has {rank} dimensions.")
    places = [axis_of(d, rank) for d in dims]
    if len(set(places)) < len(places):
        raise RuntimeError("FFT dims must be unique")
    if sizes is None:
        return [(d, None) for d in places]
    for n in sizes:
        if n < 1 and n != -1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return [(d, None if n == -1 else n) for d, n in zip(places, sizes)]


def _last(axes: list) -> tuple:
    if not axes:
        raise RuntimeError("the transform must have at least one dim")
    return axes[-1]


def fftn(input: Tensor, s: Any = None, dim: Any = None, norm: Any = None) -> Tensor:
    out = input if input._array.dtype.kind == "c" else input + 0j
    for d, n in _axes(input, s, dim):
        out = fft(out, n, d, norm)
    return out


def ifftn(input: Tensor, s: Any = None, dim: Any = None, norm: Any = None) -> Tensor:
    out = input if input._array.dtype.kind == "c" else input + 0j
    for d, n in _axes(input, s, dim):
        out = ifft(out, n, d, norm)
    return out


def rfftn(input: Tensor, s: Any = None, dim: Any = None, norm: Any = None) -> Tensor:
    axes = _axes(input, s, dim)
    d, n = _last(axes)
    out = rfft(input, n, d, norm)
    for d, n in axes[:-1]:
        out = fft(out, n, d, norm)
    return out


def irfftn(input: Tensor, s: Any = None, dim: Any = None, norm: Any = None) -> Tensor:
    axes = _axes(input, s, dim)
    d, n = _last(axes)
    out = input
    for other, size in axes[:-1]:
        out = ifft(out, size, other, norm)
    return irfft(out, n, d, norm)


def hfftn(input: Tensor, s: Any = None, dim: Any = None, norm: Any = None) -> Tensor:
    axes = _axes(input, s, dim)
    d, n = _last(axes)
    out = input
    for other, size in axes[:-1]:
        out = fft(out, size, other, norm)
    return hfft(out, n, d, norm)


def ihfftn(input: Tensor, s: Any = None, dim: Any = None, norm: Any = None) -> Tensor:
    axes = _axes(input, s, dim)
    d, n = _last(axes)
    out = ihfft(input, n, d, norm)
    for other, size in axes[:-1]:
        out = ifft(out, size, other, norm)
    return out


def _of_two(name: str, function: Any) -> Any:
    """The transform of the last two dims."""

    def op(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: Any = None) -> Tensor:
        return function(input, s, dim, norm)

    op.__name__ = op.__qualname__ = name
    return op


fft2, ifft2, rfft2 = _of_two("fft2", fftn), _of_two("ifft2", ifftn), _of_two("rfft2", rfftn)
irfft2, hfft2, ihfft2 = _of_two("irfft2", irfftn), _of_two("hfft2", hfftn), _of_two("ihfft2", ihfftn)


def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Frequency 0 in the middle."""
    dims = [d for d, _ in _axes(input, None, dim)]
    return roll(input, [input._array.shape[d] // 2 for d in dims], dims)


def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    dims = [d for d, _ in _axes(input, None, dim)]
    return roll(input, [-(input._array.shape[d] // 2) for d in dims], dims)


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """The frequencies of fft's results, in cycles per step of length d."""
    kind = default() if dtype is None else to_numpy(dtype)
    return _made(np.fft.fftfreq(n, d).astype(kind), device, requires_grad)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    kind = default() if dtype is None else to_numpy(dtype)
    return _made(np.fft.rfftfreq(n, d).astype(kind), device, requires_grad)


def __getattr__(name: str) -> Any:
    raise unsupported(f"torch.fft.{name}")

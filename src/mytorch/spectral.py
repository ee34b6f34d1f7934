"""Short-time Fourier transforms, and windows by torch's older names (periodic unless told otherwise)."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import fft
from .nn.functional import fold, pad
from .ops.complex import view_as_real
from .signal import windows
from .tensor import Tensor

__all__ = [
    "bartlett_window", "blackman_window", "hamming_window", "hann_window", "istft", "kaiser_window", "stft",
]  # fmt: skip


def _older(name: str, window: Any, **fixed: Any) -> Any:
    def make(window_length: int, periodic: bool = True, *args: Any, **kwargs: Any) -> Tensor:
        given = dict(zip(_EXTRA.get(name, ()), args)) | kwargs
        return window(window_length, sym=not periodic, **fixed, **given)

    make.__name__ = make.__qualname__ = name
    return make


_EXTRA = {"kaiser_window": ("beta",), "hamming_window": ("alpha", "beta")}
hann_window = _older("hann_window", windows.hann)
blackman_window = _older("blackman_window", windows.blackman)
bartlett_window = _older("bartlett_window", windows.bartlett)
kaiser_window = _older("kaiser_window", windows.kaiser)


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **kwargs: Any
) -> Tensor:
    return windows.general_cosine(window_length, a=(alpha, beta), sym=not periodic, **kwargs)


def _window(window: Tensor | None, n_fft: int, win_length: int | None, like: Tensor) -> Tensor:
    """The window centred among n_fft points, with zeros around it."""
    size = n_fft if win_length is None else win_length
    if not 0 < size <= n_fft:
        raise RuntimeError(f"expected 0 < win_length <= n_fft, but got win_length={size}")
    if window is None:
        window = Tensor(np.ones(size, like._array.real.dtype))
    if window.ndim != 1 or len(window) != size:
        raise RuntimeError(
            f"expected a 1D window tensor of size equal to win_length={size}, but got window with size "
            f"{list(window.shape)}"
        )
    left = (n_fft - size) // 2
    return pad(window, (left, n_fft - size - left))


def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """(L,) or (B, L) -> (frequencies, frames) or (B, frequencies, frames): transforms of overlapping pieces."""
    is_complex = input._array.dtype.kind == "c"
    if return_complex is None and not is_complex:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs.")
    if input.ndim not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, but got {input.ndim}D")
    hop = n_fft // 4 if hop_length is None else hop_length
    if hop <= 0:
        raise RuntimeError(f"stft: expected hop_length > 0, but got hop_length={hop}")
    rows = input.unsqueeze(0) if input.ndim == 1 else input
    if center:
        rows = pad(rows.unsqueeze(1), (n_fft // 2, n_fft // 2), pad_mode).squeeze(1)
    if not 0 < n_fft <= rows.shape[-1]:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {rows.shape[-1]}, but got n_fft={n_fft}")
    frames = rows.unfold(-1, n_fft, hop) * _window(window, n_fft, win_length, input)  # (B, frames, n_fft)
    one_sided = not is_complex if onesided is None else onesided
    norm = "ortho" if normalized else None
    out = (fft.rfft if one_sided else fft.fft)(frames, norm=norm).transpose(1, 2)
    out = out.squeeze(0) if input.ndim == 1 else out
    return out if return_complex or is_complex else view_as_real(out)


def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal of these transforms: windows added where they overlap, divided by the sum of their squares."""
    if input._array.dtype.kind != "c":
        raise RuntimeError("istft requires a complex-valued input tensor matching the output of stft.")
    hop = n_fft // 4 if hop_length is None else hop_length
    spectra = (input.unsqueeze(0) if input.ndim == 2 else input).transpose(1, 2)  # (B, frames, frequencies)
    norm = "ortho" if normalized else None
    one_sided = spectra.shape[-1] != n_fft if onesided is None else onesided
    frames = fft.irfft(spectra, n_fft, norm=norm) if one_sided else fft.ifft(spectra, norm=norm)
    if not one_sided and not return_complex:
        frames = frames.real
    shape = _window(window, n_fft, win_length, input)
    count = frames.shape[1]
    total = n_fft + hop * (count - 1)

    def added(columns: Tensor) -> Tensor:
        """(B, n_fft, frames) -> (B, total)."""
        return fold(columns, (1, total), (1, n_fft), stride=(1, hop)).reshape(-1, total)

    squares = (shape * shape).reshape(1, -1, 1).expand(1, n_fft, count)
    signal, weight = added((frames * shape).transpose(1, 2)), added(squares)
    start = n_fft // 2 if center else 0
    end = total - start if length is None else min(start + length, total)
    signal, weight = signal[:, start:end], weight[:, start:end]
    if (np.abs(weight._array) < 1e-11).any():
        raise RuntimeError("istft: window overlap add min is 0: every place needs a window that is not 0 there")
    out = signal / weight
    if length is not None and length > end - start:
        out = pad(out, (0, length - (end - start)))
    return out.squeeze(0) if input.ndim == 2 else out

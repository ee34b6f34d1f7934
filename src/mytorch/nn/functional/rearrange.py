"""Images as windows and back (unfold, fold), and channels as pixels and back (pixel_shuffle)."""

from __future__ import annotations

import numpy as np

from mytorch.autograd import record
from mytorch.tensor import Tensor

from .layout import Window, pair

__all__ = ["channel_shuffle", "fold", "native_channel_shuffle", "pixel_shuffle", "pixel_unshuffle", "unfold"]


def _windows(x: np.ndarray, window: Window, pads: tuple[int, int]) -> np.ndarray:
    """(N, C, H, W) -> (N, C*kh*kw, positions)."""
    ph, pw = pads
    x = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    down, across = window.positions(*x.shape[2:])
    out = np.empty((*x.shape[:2], *window.kernel, down, across), x.dtype)
    for i, j, rows, columns in window.taps(range(down), across):
        out[:, :, i, j] = x[:, :, rows, columns]
    return out.reshape(x.shape[0], x.shape[1] * window.kernel[0] * window.kernel[1], down * across)


def _overlay(cells: np.ndarray, size: tuple[int, int], window: Window, pads: tuple[int, int]) -> np.ndarray:
    """(N, C*kh*kw, positions) -> (N, C, H, W): windows added where they lie. The transpose of _windows."""
    (ph, pw), (kh, kw) = pads, window.kernel
    height, width = size[0] + 2 * ph, size[1] + 2 * pw
    down, across = window.positions(height, width)
    n = len(cells)
    cells = cells.reshape(n, cells.shape[1] // (kh * kw), kh, kw, down, across)
    out = np.zeros((n, cells.shape[1], height, width), cells.dtype)
    for i, j, rows, columns in window.taps(range(down), across):
        out[:, :, rows, columns] += cells[:, :, i, j]
    return out[:, :, ph : height - ph, pw : width - pw]


def _window(kernel_size: object, stride: object, dilation: object) -> Window:
    window = Window(pair(kernel_size), pair(stride), pair(dilation))  # type: ignore[arg-type]
    for word, values in (("kernel_size", window.kernel), ("stride", window.stride), ("dilation", window.dilation)):
        if min(values) <= 0:
            raise RuntimeError(f"{word} should be greater than zero, but got {values}")
    return window


def unfold(input: Tensor, kernel_size: object, dilation: object = 1, padding: object = 0, stride: object = 1) -> Tensor:
    """(N, C, H, W) or (C, H, W) -> (N, C*kh*kw, positions): each window as a column."""
    if input.ndim == 3:
        return unfold(input.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0)
    if input.ndim != 4:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {list(input.shape)}"
        )
    window, pads = _window(kernel_size, stride, dilation), pair(padding)  # type: ignore[arg-type]
    size = (input.shape[2], input.shape[3])
    if min(window.positions(size[0] + 2 * pads[0], size[1] + 2 * pads[1])) < 1:
        raise RuntimeError(
            f"Given input with spatial size {size}, kernel_size={window.kernel}, dilation={window.dilation}, "
            f"padding={pads}, calculated shape of the array of sliding blocks is too small (non-positive)"
        )
    return record(
        _windows(input._array, window, pads),
        (input,),
        lambda g: (_overlay(g, size, window, pads),),
        again=lambda g: (fold(g, size, window.kernel, window.dilation, pads, window.stride),),
    )


def fold(
    input: Tensor,
    output_size: object,
    kernel_size: object,
    dilation: object = 1,
    padding: object = 0,
    stride: object = 1,
) -> Tensor:
    """(N, C*kh*kw, positions) -> (N, C, H, W): columns back to their windows, added where they overlap."""
    if input.ndim == 2:
        return fold(input.unsqueeze(0), output_size, kernel_size, dilation, padding, stride).squeeze(0)
    if input.ndim != 3:
        raise RuntimeError(f"Expected 2D or 3D (batch mode) tensor for input, but got: {list(input.shape)}")
    window, pads, size = _window(kernel_size, stride, dilation), pair(padding), pair(output_size)  # type: ignore[arg-type]
    cells = window.kernel[0] * window.kernel[1]
    if input.shape[1] % cells:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={input.shape[1]} and kernel_size={window.kernel}."
        )
    positions = window.positions(size[0] + 2 * pads[0], size[1] + 2 * pads[1])
    if min(positions) < 1 or positions[0] * positions[1] != input.shape[2]:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={window.kernel}, dilation={window.dilation}, padding={pads}, "
            f"stride={window.stride}, expected size of input's dimension 2 to match the calculated number of sliding "
            f"blocks {positions[0]} * {positions[1]} = {positions[0] * positions[1]}, but got "
            f"input.size(2)={input.shape[2]}."
        )
    return record(
        _overlay(input._array, size, window, pads),
        (input,),
        lambda g: (_windows(g, window, pads),),
        again=lambda g: (unfold(g, window.kernel, window.dilation, pads, window.stride),),
    )


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., C*r*r, H, W) -> (..., C, H*r, W*r)."""
    r = int(upscale_factor)
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={c} is not divisible by {r * r}"
        )
    n = len(lead)
    cells = input.reshape(*lead, c // (r * r), r, r, h, w)
    cells = cells.permute(*range(n + 1), n + 3, n + 1, n + 4, n + 2)  # (..., C, H, r, W, r)
    return cells.reshape(*lead, c // (r * r), h * r, w * r)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., C, H*r, W*r) -> (..., C*r*r, H, W)."""
    r = int(downscale_factor)
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, c, h, w = input.shape
    for word, size, at in (("height", h, -2), ("width", w, -1)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {word} to be divisible by downscale_factor, but input.size({at})={size} is "
                f"not divisible by {r}"
            )
    n = len(lead)
    cells = input.reshape(*lead, c, h // r, r, w // r, r)
    cells = cells.permute(*range(n + 1), n + 2, n + 4, n + 1, n + 3)  # (..., C, r, r, H, W)
    return cells.reshape(*lead, c * r * r, h // r, w // r)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """(N, C, ...): channels of `groups` groups dealt out in turn (ShuffleNet)."""
    if input.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {input.shape}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    n, c, *rest = input.shape
    if c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    return input.reshape(n, groups, c // groups, *rest).transpose(1, 2).reshape(n, c, *rest)


native_channel_shuffle = channel_shuffle

"""Convolutions over one and three dimensions, written with the ones over two."""

from __future__ import annotations

import numpy as np

from mytorch.tensor import Tensor

from .conv import conv2d, conv_transpose2d
from .layout import numbers
from .pad import pad

__all__ = ["conv1d", "conv3d", "conv_transpose1d", "conv_transpose3d"]


def _check_rank(input: Tensor, rank: int, name: str) -> None:
    if input.ndim not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input.shape)}"
        )


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple = 1,
    padding: int | tuple | str = 0,
    dilation: int | tuple = 1,
    groups: int = 1,
) -> Tensor:
    """input (N, C, L) or (C, L), weight (O, C/groups, k) -> (N, O, Lo): conv2d of images that are one row high."""
    _check_rank(input, 1, "conv1d")
    if weight.ndim != 3:
        raise RuntimeError(f"weight should have at least three dimensions, but got {list(weight.shape)}")
    stride, dilation = (1, *numbers(stride, 1)), (1, *numbers(dilation, 1))
    around = padding if isinstance(padding, str) else (0, *numbers(padding, 1))
    return conv2d(input.unsqueeze(-2), weight.unsqueeze(-2), bias, stride, around, dilation, groups).squeeze(-2)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple = 1,
    padding: int | tuple = 0,
    output_padding: int | tuple = 0,
    groups: int = 1,
    dilation: int | tuple = 1,
) -> Tensor:
    """input (N, C, L) or (C, L), weight (C, O/groups, k)."""
    _check_rank(input, 1, "conv_transpose1d")
    (s,), (p,), (o,), (d,) = (numbers(v, 1) for v in (stride, padding, output_padding, dilation))
    image = input.unsqueeze(-2)
    return conv_transpose2d(image, weight.unsqueeze(-2), bias, (1, s), (0, p), (0, o), groups, (1, d)).squeeze(-2)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple = 1,
    padding: int | tuple | str = 0,
    dilation: int | tuple = 1,
    groups: int = 1,
) -> Tensor:
    """input (N, C, D, H, W) or (C, D, H, W): for each layer of the kernel a conv2d of the layers it meets, summed."""
    _check_rank(input, 3, "conv3d")
    for word, values in (("stride", numbers(stride, 3)), ("dilation", numbers(dilation, 3))):
        if min(values) <= 0:
            raise RuntimeError(f"non-positive {word} is not supported, but got {values}")
    if not isinstance(padding, str) and min(numbers(padding, 3)) < 0:
        raise RuntimeError(f"negative padding is not supported, but got {padding}")
    if input.ndim == 4:
        return conv3d(input.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(0)
    strides, dilations, kernel = numbers(stride, 3), numbers(dilation, 3), tuple(weight.shape[2:])
    if isinstance(padding, str):
        if padding == "same" and strides != (1, 1, 1):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        total = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilations, kernel)]
        input = pad(input, [n for t in reversed(total) for n in (t // 2, t - t // 2)])
    else:
        front, top, left = numbers(padding, 3)
        input = pad(input, (left, left, top, top, front, front))
    n, c, depth = input.shape[:3]
    reach = dilations[0] * (kernel[0] - 1) + 1
    if depth < reach:
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, input.shape[2:]))}). Kernel size: "
            f"({' x '.join(map(str, kernel))}). Kernel size can't be greater than actual input size"
        )
    out_depth = (depth - reach) // strides[0] + 1
    total_out = None
    for k in range(kernel[0]):
        start = k * dilations[0]
        layers = input[:, :, start : start + (out_depth - 1) * strides[0] + 1 : strides[0]]  # (N, C, Do, H, W)
        images = layers.transpose(1, 2).reshape(n * out_depth, c, *input.shape[3:])
        part = conv2d(images, weight[:, :, k], bias if k == 0 else None, strides[1:], 0, dilations[1:], groups)
        total_out = part if total_out is None else total_out + part
    assert total_out is not None
    return total_out.reshape(n, out_depth, *total_out.shape[1:]).transpose(1, 2)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple = 1,
    padding: int | tuple = 0,
    output_padding: int | tuple = 0,
    groups: int = 1,
    dilation: int | tuple = 1,
) -> Tensor:
    """input (N, C, D, H, W) or (C, D, H, W), weight (C, O/groups, kd, kh, kw)."""
    _check_rank(input, 3, "conv_transpose3d")
    if input.ndim == 4:
        args = (weight, bias, stride, padding, output_padding, groups, dilation)
        return conv_transpose3d(input.unsqueeze(0), *args).squeeze(0)
    strides, pads, extra, dilations = (numbers(v, 3) for v in (stride, padding, output_padding, dilation))
    n, c, depth = input.shape[:3]
    images = input.transpose(1, 2).reshape(n * depth, c, *input.shape[3:])
    full = (depth - 1) * strides[0] + dilations[0] * (weight.shape[2] - 1) + 1 + extra[0]
    out: Tensor | None = None
    for k in range(weight.shape[2]):
        part = conv_transpose2d(images, weight[:, :, k], None, strides[1:], pads[1:], extra[1:], groups, dilations[1:])
        part = part.reshape(n, depth, *part.shape[1:]).transpose(0, 1)  # (D, N, O, Ho, Wo)
        if out is None:
            out = Tensor(np.zeros((full, *part.shape[1:]), part._array.dtype))
        places = Tensor(np.arange(depth) * strides[0] + k * dilations[0])
        out = out.index_add(0, places, part)
    assert out is not None
    out = out[pads[0] : full - pads[0]].permute(1, 2, 0, 3, 4)
    return out if bias is None else out + bias.reshape(-1, 1, 1, 1)

"""Convolution, BatchNorm, ReLU and pool as one function in training on a CPU: the same numbers, less memory traffic.

On the first layers' large images these steps mostly wait for memory. The pool comes first here, so that a quarter of
the values is normalised: the largest of a window stays the largest as long as no channel's weight is negative. The
gradient of the convolution's bias, which the normalisation takes away again, is zero and is not summed up.

The layers remain what they are. They compute one after the other in evaluation, on GPUs, where they have hooks, and
wherever else this would not be the same up to rounding.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

aten = torch.ops.aten
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def fuse(model: nn.Module) -> None:
    """Prepare the model's sequences in place: their class alone changes."""
    for module in model.modules():
        if type(module) is nn.Sequential and any(is_block(*part) for part in runs(module)):
            module.__class__ = Sequential


class Sequential(nn.Sequential):
    """It has torch's name: whoever prints the model sees the layers it was built of, not how they are computed."""

    def forward(self, x: Tensor) -> Tensor:
        layers = list(self)
        while layers:
            if is_block(*layers[:4]) and suits(layers[:4], x):
                x = block(x, *layers[:4])
                del layers[:4]
            else:
                x = layers.pop(0)(x)
        return x


def runs(sequence: nn.Sequential) -> list[list[nn.Module]]:
    """Each four layers that follow one another."""
    layers = list(sequence)
    return [layers[i : i + 4] for i in range(len(layers) - 3)]


def is_block(*layers: nn.Module) -> bool:
    """Whether they are such layers with nothing unusual; ReLU and pool in either order, which is the same function."""
    if [type(layer) for layer in layers[:2]] != [nn.Conv2d, nn.BatchNorm2d] or len(layers) < 4:
        return False
    conv, norm, *others = layers
    if {type(layer) for layer in others} != {nn.ReLU, nn.MaxPool2d}:
        return False
    pool = next(layer for layer in others if type(layer) is nn.MaxPool2d)
    numbers = norm.affine and norm.track_running_stats and norm.momentum is not None
    return (
        numbers and conv.padding_mode == "zeros" and conv.padding not in ("same", "valid") and not pool.return_indices
    )


def suits(layers: list[nn.Module], x: Tensor) -> bool:
    """Whether this is a training step in which the order of pool and normalisation does not matter."""
    return (
        all(layer.training and not any(getattr(layer, hooks) for hooks in HOOKS) for layer in layers)
        and torch.is_grad_enabled()
        and not torch.compiler.is_compiling()
        and not torch.is_autocast_enabled("cpu")
        and x.device.type == "cpu"
        and x.dim() == 4
        and x.dtype == layers[0].weight.dtype == layers[1].weight.dtype
        and x.dtype in (torch.float32, torch.float64)
        and x.is_contiguous(memory_format=torch.channels_last)
        and bool((layers[1].weight > 0).all())
    )


def block(x: Tensor, conv: Any, norm: Any, *others: Any) -> Tensor:
    pool = next(layer for layer in others if type(layer) is nn.MaxPool2d)
    norm.num_batches_tracked.add_(1)
    bias = conv.bias if conv.bias is not None else torch.zeros_like(norm.bias)
    found: Tensor = Block.apply(x, conv.weight, bias, norm.weight, norm.bias, conv, norm, pool)
    return found


class Block(torch.autograd.Function):
    """relu(batch_norm(conv(x)).max_pool())"""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, shift: Tensor, conv: Any, norm: Any, pool: Any
    ) -> Tensor:
        y = functional.conv2d(x, weight, None, conv.stride, conv.padding, conv.dilation, conv.groups)
        mean, variance = aten.batch_norm_update_stats(y, norm.running_mean, norm.running_var, norm.momentum)
        norm.running_mean.add_(bias, alpha=norm.momentum)
        steepness = (variance + norm.eps).rsqrt()
        largest, places = aten.max_pool2d_with_indices(y, *pooling(pool), pool.ceil_mode)
        gain = scale * steepness
        out = torch.addcmul(column(shift - mean * gain), largest, column(gain)).clamp_min_(0)
        ctx.layers = conv, norm, pool
        ctx.save_for_backward(x, weight, bias, scale, shift, y, mean, steepness, largest, places, out)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        conv, norm, pool = ctx.layers
        x, weight, bias, scale, shift, y, mean, steepness, largest, places, out = ctx.saved_tensors
        needed = ctx.needs_input_grad
        if torch.is_grad_enabled():  # gradients of this gradient are wanted: by the layers themselves
            again = one_after_the_other(x, weight, bias, scale, shift, conv, norm, pool)
            wanted = [value for value, need in zip((x, weight, bias, scale, shift), needed) if need]
            grads = iter(torch.autograd.grad(again, wanted, grad, create_graph=True))
            return *(next(grads) if need else None for need in needed[:5]), None, None, None
        grad = aten.threshold_backward(grad, out, 0)
        to_shift = grad.sum((0, 2, 3))
        to_scale = ((grad * largest).sum((0, 2, 3)) - mean * to_shift) * steepness
        gain, count = scale * steepness, y.numel() / len(scale)
        slope = -gain * steepness * to_scale / count
        offset = -gain * to_shift / count - slope * mean
        grad = aten.max_pool2d_with_indices_backward(grad * column(gain), y, *pooling(pool), pool.ceil_mode, places)
        grad.addcmul_(y, column(slope)).add_(column(offset))
        to_x, to_weight, _ = aten.convolution_backward(
            grad, x, weight, None, conv.stride, conv.padding, conv.dilation, False, [0, 0], conv.groups,
            [needed[0], needed[1], False],
        )  # fmt: skip
        return to_x, to_weight, torch.zeros_like(bias), to_scale, to_shift, None, None, None


def one_after_the_other(
    x: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, shift: Tensor, conv: Any, norm: Any, pool: Any
) -> Tensor:
    y = functional.conv2d(x, weight, bias, conv.stride, conv.padding, conv.dilation, conv.groups)
    y = functional.batch_norm(y, None, None, scale, shift, training=True, eps=norm.eps)
    return functional.max_pool2d(y, *pooling(pool), pool.ceil_mode).relu()


def pooling(pool: nn.MaxPool2d) -> list[list[int]]:
    """Kernel, stride, padding and dilation."""
    numbers = pool.kernel_size, pool.stride, pool.padding, pool.dilation
    return [[number, number] if isinstance(number, int) else list(number) for number in numbers]


def column(values: Tensor) -> Tensor:
    """One number per channel, beside images."""
    return values.view(1, -1, 1, 1)

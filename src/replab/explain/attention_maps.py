"""Who looks at whom in a ViT: the attention weights that a forward pass really used, and maps made of them.

PyTorch's fused paths never form the weights. They are switched off while watching, and each attention layer is asked
for its weights, head by head; the output is the same but for rounding.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import nn

from replab.models.parts.attention import Attention


@contextlib.contextmanager
def watching(model: nn.Module) -> Iterator[list[torch.Tensor]]:
    """A list that every attention layer appends its weights to, (B, heads, T, T), in the order they run."""
    weights_used: list[torch.Tensor] = []

    def ask(module: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
        return args, {**kwargs, "need_weights": True, "average_attn_weights": False}

    def keep(module: nn.Module, args: Any, output: Any) -> None:
        weights_used.append((module.weights(args[0])[0] if isinstance(module, Attention) else output[1]).detach())

    handles: list[Any] = []
    fused = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        for module in model.modules():
            if isinstance(module, nn.MultiheadAttention):
                handles.append(module.register_forward_pre_hook(ask, with_kwargs=True))
            if isinstance(module, (nn.MultiheadAttention, Attention)):
                handles.append(module.register_forward_hook(keep))
        yield weights_used
    finally:
        torch.backends.mha.set_fastpath_enabled(fused)
        for handle in handles:
            handle.remove()


def attention(model: nn.Module, x: torch.Tensor) -> np.ndarray | None:
    """(layers, heads, T, T) of one image (1, C, H, W), in eval mode; None unless all layers have the same tokens."""
    with torch.no_grad(), watching(model.eval()) as weights_used:
        model(x)
    shapes = {weights.shape for weights in weights_used}
    if len(shapes) != 1:
        return None  # none at all, or fewer tokens in later layers
    images, _, takers, taken = shapes.pop()
    if images != 1 or takers != taken:
        return None  # windows of the image, or tokens that look at others than themselves
    return np.stack([weights[0].float().cpu().numpy() for weights in weights_used])


def rollout(weights: np.ndarray) -> np.ndarray:
    """(T, T): attention followed through all layers, half of each token passing by on the skip path (2005.00928)."""
    tokens = weights.shape[-1]
    followed = np.eye(tokens)
    for layer in weights.mean(1):
        followed = (0.5 * layer + 0.5 * np.eye(tokens)) @ followed
    return followed


def cls_maps(weights: np.ndarray, height: int, width: int) -> np.ndarray | None:
    """(..., T, T) → (..., rows, columns): how much the CLS token, the first, takes of each patch.

    None where the tokens are not one more than a grid of patches of this image's shape.
    """
    patches = weights.shape[-1] - 1
    rows = round((patches * height / width) ** 0.5)
    if rows < 1 or rows * (columns := patches // max(rows, 1)) != patches:
        return None
    return weights[..., 0, 1:].reshape(*weights.shape[:-2], rows, columns)

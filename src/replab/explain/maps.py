"""Maps of what matters to a model in one image, (H, W) each, and a score of how faithful a map is.

`x` is one normalised image (1, C, H, W), `target` the class asked about. Larger is more important.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from replab.explain import attention_maps

STEPS = 8  # of deletion and insertion


def probability(model: nn.Module, x: torch.Tensor, target: int) -> np.ndarray:
    """(B,), in batches."""
    with torch.no_grad():
        shares = [model(part).softmax(1)[:, target].float().cpu().numpy() for part in x.split(64)]
    return np.concatenate(shares)


def occlusion(model: nn.Module, x: torch.Tensor, target: int, cells: int = 6) -> np.ndarray:
    """How far the class's probability falls when a square is covered with the mean colour (1311.2901)."""
    height, width = x.shape[-2:]
    tops = np.linspace(0, height, min(cells, height) + 1).astype(int)
    lefts = np.linspace(0, width, min(cells, width) + 1).astype(int)
    covered = []
    for top, bottom in pairwise(tops):
        for left, right in pairwise(lefts):
            one = x.clone()
            one[..., top:bottom, left:right] = _mean(x)
            covered.append(one)
    fall = probability(model, x, target) - probability(model, torch.cat(covered), target)
    return spread(fall.reshape(len(tops) - 1, len(lefts) - 1), height, width, smooth=False)


def grad_cam(model: nn.Module, x: torch.Tensor, target: int) -> np.ndarray | None:
    """Grad-CAM (1610.02391) on the last convolution with room to look at; None without one."""
    convolution = last_convolution(model)
    if convolution is None:
        return None
    outputs: list[torch.Tensor] = []
    handle = convolution.register_forward_hook(lambda module, args, output: outputs.append(output))
    try:
        with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):  # its LSTM has no backward in eval mode
            logits = model(x.detach().requires_grad_(True))  # a frozen backbone has a graph then too
            slope = slope_of(logits[0, target], outputs[-1]) if outputs else None
    finally:
        handle.remove()
    if slope is None:
        return None
    weighted = (slope.mean((2, 3), keepdim=True) * outputs[-1]).sum(1).relu()  # (1, h, w)
    return spread(weighted[0].detach().float().cpu().numpy(), *x.shape[-2:])


def last_convolution(model: nn.Module) -> nn.Conv2d | None:
    """The last one that does not cut patches: patches are an embedding, not features."""
    layers = [m for m in model.modules() if isinstance(m, nn.Conv2d) and m.kernel_size > (1, 1)]
    layers = [m for m in layers if m.stride != m.kernel_size]
    return layers[-1] if layers else None


def patch_gradient(model: nn.Module, x: torch.Tensor, target: int) -> np.ndarray | None:
    """Size of the gradient in each patch, or in each pixel of a model without patches; None without a gradient."""
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):  # as above
        watched = x.detach().requires_grad_(True)
        slope = slope_of(model(watched)[0, target], watched)
    if slope is None:
        return None
    size = slope.abs().sum(1, keepdim=True)  # (1, 1, H, W)
    patch = patch_size(model)
    if patch is not None:
        size = functional.avg_pool2d(size, patch)
    return spread(size[0, 0].detach().float().cpu().numpy(), x.shape[-2], x.shape[-1], smooth=False)


def slope_of(value: torch.Tensor, of: torch.Tensor) -> torch.Tensor | None:
    """None where there is no gradient: a head that counts neighbours, a layer that is not used."""
    if not value.requires_grad or not of.requires_grad:
        return None
    return torch.autograd.grad(value, of, allow_unused=True)[0]


def patch_size(model: nn.Module) -> tuple[int, int] | None:
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            side = m.kernel_size
            return (side[0], side[1]) if m.stride == m.kernel_size and side > (1, 1) else None
    return None


def all_maps(model: nn.Module, x: torch.Tensor, target: int, layer: int | None = None) -> dict[str, np.ndarray]:
    """Every map this model has, by name. `layer` (from 1) adds that layer's attention, averaged over its heads."""
    height, width = x.shape[-2:]
    maps = {"occlusion": occlusion(model, x, target)}
    if (cam := grad_cam(model, x, target)) is not None:
        maps["Grad-CAM"] = cam
    recurrent = any(isinstance(m, nn.LSTM) for m in model.modules())
    if recurrent and (slopes := patch_gradient(model, x, target)) is not None:
        maps["gradient by patch"] = slopes
    if (weights := attention_maps.attention(model, x)) is not None:
        wanted = {"attention, last layer": weights[-1].mean(0), "attention rollout": attention_maps.rollout(weights)}
        if layer is not None:
            wanted[f"attention, layer {layer}"] = weights[layer - 1].mean(0)
        for name, part in wanted.items():
            if (cls := attention_maps.cls_maps(part, height, width)) is not None:
                maps[name] = spread(cls, height, width)
    return maps


def faithfulness(model: nn.Module, x: torch.Tensor, target: int, importance: np.ndarray) -> tuple[float, float]:
    """(deletion, insertion): mean probability while the most important pixels are covered, or uncovered, first.

    A faithful map has a small deletion and a large insertion (1806.07421).
    """
    height, width = x.shape[-2:]
    noise = np.random.default_rng(0).random(importance.size) * 1e-9  # ties in no order of their own
    order = np.argsort(-(importance.ravel() + noise * np.ptp(importance)), kind="stable")
    rank = np.empty(len(order), int)
    rank[order] = np.arange(len(order))
    covered = _mean(x).expand_as(x)
    shares = np.linspace(0, 1, STEPS + 1)
    masks = torch.stack([torch.from_numpy(rank.reshape(height, width) < share * len(order)) for share in shares])
    masks = masks[:, None].to(x.device)  # (steps, 1, H, W): the first ones in importance
    deleted = probability(model, torch.where(masks, covered, x), target)
    inserted = probability(model, torch.where(masks, x, covered), target)
    return float(deleted.mean()), float(inserted.mean())


def random_map(height: int, width: int, seed: int = 0) -> np.ndarray:
    """What a map that knows nothing scores."""
    return spread(np.random.default_rng(seed).random((min(8, height), min(8, width))), height, width)


def spread(small: np.ndarray, height: int, width: int, smooth: bool = True) -> np.ndarray:
    """A coarse map at the image's size."""
    tensor = torch.from_numpy(np.ascontiguousarray(small, dtype=np.float32))[None, None]
    how = {"mode": "bilinear", "align_corners": False} if smooth else {"mode": "nearest"}
    return functional.interpolate(tensor, (height, width), **how)[0, 0].numpy()  # type: ignore[arg-type]


def _mean(x: torch.Tensor) -> torch.Tensor:
    return x.mean((2, 3), keepdim=True)

"""One small map per mistake that a run keeps: what the model looked at when it answered wrongly.

The cheapest that the model has: Grad-CAM, else attention rollout, else occlusion. Together they cost no more than two
more passes over the test images.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from replab.explain import attention_maps, maps
from replab.records.values.answers import log_softmax

SIDE = 14  # pixels of a map: it is smooth
PIXELS = 2**16  # at once: a gradient keeps every layer's values
COSTS = {"Grad-CAM": 3, "attention rollout": 1, "occlusion": 37}  # forward passes of one map, about
PASSES = 2  # over the test images


def of_mistakes(
    model: nn.Module, setup: Any, recipe: Any, numbers: np.ndarray, logits: np.ndarray, labels: np.ndarray
) -> dict[str, np.ndarray]:
    """Of the mistakes among these test images, the surest first: their numbers, (M, SIDE, SIDE) uint8, and the name."""
    predicted = logits.argmax(1)
    wrong = numbers[predicted[numbers] != labels[numbers]]
    wrong = wrong[np.argsort(-log_softmax(logits[wrong].astype(np.float64)).max(1), kind="stable")]
    if not len(wrong):
        return {}
    model.eval()
    name = kind(model, next(iter(setup.batches(setup.data.test.subset(wrong[:1]), model, recipe).epoch(0))).x)
    wrong = wrong[: max(12, PASSES * len(labels) // COSTS[name])]
    found: list[np.ndarray] = []
    for batch in setup.batches(setup.data.test.subset(wrong), model, recipe).epoch(0):
        said = predicted[wrong[len(found) : len(found) + len(batch.x)]]
        found += [small(one) for one in some_maps(name, model, batch.x, said)]
    return {"map_index": wrong, "maps": np.stack(found), "map_name": np.array(name)}


def kind(model: nn.Module, x: torch.Tensor) -> str:
    """Which of the maps this model has."""
    if grad_cams(model, x, np.zeros(len(x), int)) is not None:
        return "Grad-CAM"
    weights = attention_maps.attention(model, x)
    if weights is not None and attention_maps.cls_maps(weights[-1, 0], *x.shape[-2:]) is not None:
        return "attention rollout"
    return "occlusion"


def some_maps(name: str, model: nn.Module, x: torch.Tensor, targets: np.ndarray) -> list[np.ndarray]:
    """One map (h, w) per image."""
    if name == "Grad-CAM":
        few = max(1, PIXELS // (x.shape[2] * x.shape[3]))
        cams = [grad_cams(model, x[i : i + few], targets[i : i + few]) for i in range(0, len(x), few)]
        return [one for part in cams if part is not None for one in part]
    if name == "occlusion":
        return [maps.occlusion(model, one[None], int(target)) for one, target in zip(x, targets)]
    found = []
    for one in x:
        weights = attention_maps.attention(model, one[None])
        assert weights is not None
        found.append(attention_maps.cls_maps(attention_maps.rollout(weights), *x.shape[-2:]))
    return [one for one in found if one is not None]


def grad_cams(model: nn.Module, x: torch.Tensor, targets: np.ndarray) -> np.ndarray | None:
    """Grad-CAM (B, h, w) of many images at once: in eval mode no image's logits depend on another image."""
    convolution = maps.last_convolution(model)
    if convolution is None:
        return None
    outputs: list[torch.Tensor] = []
    handle = convolution.register_forward_hook(lambda module, args, output: outputs.append(output))
    try:
        with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
            logits = model(x.detach().requires_grad_(True))
            chosen = logits[torch.arange(len(x)), torch.as_tensor(targets, device=logits.device)].sum()
            alike = bool(outputs) and outputs[-1].shape[0] == len(x)
            slope = maps.slope_of(chosen, outputs[-1]) if alike else None
    finally:
        handle.remove()
    if slope is None:
        return None
    weighted = (slope.mean((2, 3), keepdim=True) * outputs[-1]).sum(1).relu()  # (B, h, w)
    return weighted.detach().float().cpu().numpy()


def small(one: np.ndarray) -> np.ndarray:
    """From 0 to 255, SIDE pixels wide."""
    wide = maps.spread(one, SIDE, SIDE)
    low, high = float(wide.min()), float(wide.max())
    return np.asarray(((wide - low) * (255 / max(high - low, 1e-9))).round().astype(np.uint8))

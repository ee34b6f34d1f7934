"""Looking inside a trained model: what it uses in an image, how faithful such maps are, and its first filters."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from replab.data.decode.as_pixels import as_pixels
from replab.data.images import Images
from replab.data.normalise import spell
from replab.errors import RecipeError, RunError
from replab.explain import attention_maps, maps
from replab.records.record import Record
from replab.records.values import explanations
from replab.records.values.explanations import Explanation

SHOWN = 2  # right and wrong test images in the report, each


def explain(model: nn.Module, x: torch.Tensor, pixels: np.ndarray, layer: int | None = None) -> Explanation:
    """All maps of one image: `x` (1, C, H, W) as the model takes it, `pixels` as it is shown."""
    model.eval()
    with torch.no_grad():
        shares = model(x).softmax(1)[0]
    target = int(shares.argmax())
    height, width = x.shape[-2:]
    attention = None
    if (weights := attention_maps.attention(model, x)) is not None:
        if layer is not None and not 1 <= layer <= len(weights):
            raise RecipeError(f"--layer must be from 1 to {len(weights)}, the model's attention layers, got {layer}")
        attention = attention_maps.cls_maps(weights, height, width)
    elif layer is not None:
        raise RecipeError(f"--layer {layer} asks for attention, and {type(model).__name__} has none; leave it out")
    drawn = maps.all_maps(model, x, target, layer)
    judged = {**drawn, "random": maps.random_map(height, width)}
    scores = {name: maps.faithfulness(model, x, target, one) for name, one in judged.items()}
    return Explanation(pixels, target, float(shares[target]), drawn, scores, attention)


def first_filters(model: nn.Module) -> np.ndarray | None:
    """(N, C, k, k) of the first convolution, if its kernels are large enough to look at."""
    first = next((m for m in model.modules() if isinstance(m, nn.Conv2d)), None)
    if first is None or min(first.kernel_size) < 2:
        return None
    return first.weight.detach().float().cpu().numpy()


def of_run(run: Any, image: Any, layer: int | None = None, model: Any = None) -> tuple[Explanation, nn.Module]:
    """A run's model on one image: a path, a PIL picture or an array."""
    described = run.input
    if run.chosen.backend != "torch" or described.get("task") != "classify":
        raise RunError(f"run {run.id} is not a torch classifier; explain looks into those")
    network = run.model(model)
    pixels = as_pixels(image, described["channels"], described["height"], described["width"], run.chosen.fit)
    shown = Images(pixels[None], None, tuple(described["classes"]), (), ())
    recipe = run.chosen.replace(normalise=spell(described["mean"], described["std"]))
    batch = next(iter(run.restored().batches(shown, network, recipe, trained_on=shown).epoch(0)))
    return explain(network, batch.x, pixels, layer), network


def keep(record: Record, model: nn.Module, setup: Any, recipe: Any, logits: np.ndarray, labels: np.ndarray) -> None:
    """Maps of a few right and wrong test images, the most confident of each, as arrays for the report."""
    surety = torch.from_numpy(logits).softmax(1).max(1).values.numpy()
    order, right = np.argsort(-surety, kind="stable"), logits.argmax(1) == labels
    chosen = [*order[right[order]][:SHOWN], *order[~right[order]][:SHOWN]]
    images = setup.data.test.subset(np.array(chosen, int))
    batch = next(setup.batches(images, model, recipe).epoch(0))
    explained = [
        replace(explain(model, x[None], images.pixels[i]), label=int(labels[chosen[i]])) for i, x in enumerate(batch.x)
    ]
    explanations.write(record, [int(i) for i in chosen], explained)
    kernels = first_filters(model)
    if kernels is not None:
        buffer = io.BytesIO()
        np.save(buffer, kernels)
        record.write_bytes("filters.npy", buffer.getvalue())

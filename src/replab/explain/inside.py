"""Looking inside a trained model: maps of what it saw in an image, their scores beside a random map, its filters."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from replab.data.images import Images
from replab.errors import RecipeError, RunError
from replab.explain import attention_maps, maps
from replab.records.record import Record
from replab.training.loop import watching_batches

SHOWN = 2  # right and wrong test images in the report, each


@dataclass(frozen=True, eq=False)
class Explanation:
    pixels: np.ndarray  # (C, H, W) uint8
    target: int  # the class the maps are about: the one the model says
    probability: float
    maps: dict[str, np.ndarray]  # name → (H, W)
    scores: dict[str, tuple[float, float]]  # name → (deletion, insertion); "random" among them
    attention: np.ndarray | None = None  # (layers, heads, rows, columns) of the CLS token
    label: int = -1  # the true class, where it is known

    def best(self) -> str:
        """The map whose insertion exceeds its deletion most."""
        return max(self.maps, key=lambda name: self.scores[name][1] - self.scores[name][0])


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
    found = maps.all_maps(model, x, target, layer)
    judged = {**found, "random": maps.random_map(height, width)}
    scores = {name: maps.faithfulness(model, x, target, one) for name, one in judged.items()}
    return Explanation(pixels, target, float(shares[target]), found, scores, attention)


def first_filters(model: nn.Module) -> np.ndarray | None:
    """(N, C, k, k) of the first convolution, if its kernels are large enough to look at."""
    first = next((m for m in model.modules() if isinstance(m, nn.Conv2d)), None)
    if first is None or min(first.kernel_size) < 2:
        return None
    return first.weight.detach().float().cpu().numpy()


def of_run(run: Any, image: Any, layer: int | None = None, model: Any = None) -> tuple[Explanation, nn.Module]:
    """A run's model on one image: a path, a PIL picture or an array."""
    from replab.runs.run import as_pixels

    seen = run.input
    if run.chosen.backend != "torch" or seen.get("task") != "classify":
        raise RunError(f"run {run.id} is not a torch classifier; explain looks into those")
    network = run.model(model)
    pixels = as_pixels(image, seen["channels"], seen["height"], seen["width"])
    mean, std = seen["mean"], seen["std"]
    how = "none" if mean is None else ",".join(map(repr, mean)) + "/" + ",".join(map(repr, std))
    shown = Images(pixels[None], None, tuple(seen["classes"]), (), ())
    recipe = run.chosen.replace(normalise=how)
    batch = next(iter(watching_batches(network, recipe, shown, shown, run._ready.device).epoch(0)))
    return explain(network, batch.x, pixels, layer), network


def keep(record: Record, model: nn.Module, setup: Any, recipe: Any, logits: np.ndarray, labels: np.ndarray) -> None:
    """Maps of a few right and wrong test images, the surest of each, as arrays for the report."""
    surety = torch.from_numpy(logits).softmax(1).max(1).values.numpy()
    order, right = np.argsort(-surety, kind="stable"), logits.argmax(1) == labels
    chosen = [*order[right[order]][:SHOWN], *order[~right[order]][:SHOWN]]
    arrays: dict[str, np.ndarray] = {"index": np.array(chosen, int)}
    images = setup.data.test.subset(np.array(chosen, int))
    batch = next(watching_batches(model, recipe, setup.data.train, images, setup.device).epoch(0))
    for i, x in enumerate(batch.x):
        found = explain(model, x[None], images.pixels[i])
        facts = (found.target, int(labels[chosen[i]]), found.probability)
        arrays |= {f"{i}/pixels": found.pixels, f"{i}/facts": np.array(facts)}
        for name, one in found.maps.items():
            arrays[f"{i}/map/{name}"] = one.astype(np.float32)
        for name, score in found.scores.items():
            arrays[f"{i}/score/{name}"] = np.array(score)
        if found.attention is not None:
            arrays[f"{i}/attention"] = found.attention
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    record.write_bytes("explanations.npz", buffer.getvalue())
    kernels = first_filters(model)
    if kernels is not None:
        buffer = io.BytesIO()
        np.save(buffer, kernels)
        record.write_bytes("filters.npy", buffer.getvalue())


def kept(record: Record) -> list[Explanation]:
    """What `keep` kept; nothing for a run without."""
    if not record.has("explanations.npz"):
        return []
    arrays = record.predictions("explanations.npz")
    found = []
    for i in range(len(arrays["index"])):
        own = {k.removeprefix(f"{i}/map/"): v for k, v in arrays.items() if k.startswith(f"{i}/map/")}
        scores = {k.removeprefix(f"{i}/score/"): tuple(v) for k, v in arrays.items() if k.startswith(f"{i}/score/")}
        target, label, share = arrays[f"{i}/facts"]
        attention = arrays.get(f"{i}/attention")
        found.append(Explanation(arrays[f"{i}/pixels"], int(target), share, own, scores, attention, int(label)))
    return found

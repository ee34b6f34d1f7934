"""Pictures a generative model makes, as uint8 arrays: of fixed noise, around points, between points. In eval mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from replab.data.images import Images
from replab.tasks.tsne import FEWEST, two_dimensions

GRID = 64  # samples of a grid
ROW = 8  # pictures per row: of a class, a centre, a walk
POINTS = 2000  # of a t-SNE


def can_draw(model: Any) -> bool:
    """Whether it generates, and learned to: controls without decoder or generator did not."""
    learned = getattr(model, "reconstructs", True) and getattr(model, "terms", {}).get("adversarial", True)
    return hasattr(model, "generate") and bool(learned)


def draw(model: Any, n: int, seed: int, label: int | None = None) -> np.ndarray:
    """n samples, (n, C, H, W) uint8, by seed alone. Labelled models: of class `label`, or class after class."""
    labels = getattr(model, "labels", 0)
    z = np.random.default_rng(seed).standard_normal((n, model.latent), dtype=np.float32)
    y = None if not labels else np.arange(n) % labels if label is None else np.full(n, label)
    return made(model, model.generate, z, y)


def made(model: Any, make: Callable[..., Any], z: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
    """make(z, y) in eval mode, a few at a time, as pixels. The model is left in the mode it was in."""
    import torch

    was_training, device, drawn = model.training, next(model.parameters()).device, []
    model.eval()
    with torch.inference_mode():
        for start in range(0, len(z), 256):
            part = torch.from_numpy(z[start : start + 256]).to(device)
            label = None if y is None else torch.from_numpy(np.asarray(y[start : start + 256], np.int64)).to(device)
            drawn.append(pixels(make(part, label), model.pixel_range))
    model.train(was_training)
    return np.concatenate(drawn)


def pixels(images: Any, span: tuple[float, float]) -> np.ndarray:
    """Images in the model's range → uint8."""
    import torch

    low, high = span
    scaled = (images.detach().float().cpu() - low) * (255 / (high - low))
    return np.asarray(scaled.round().clamp(0, 255).to(torch.uint8).numpy())


def shown(
    model: Any,
    batches: Any,
    test: Images,
    mean: np.ndarray,
    centres: np.ndarray,
    seed: int,
) -> dict[str, np.ndarray]:
    """What the report draws of an autoencoder: samples, reconstructions, walks, neighbourhoods of centres, t-SNE."""
    which = some(len(test), 2 * ROW, seed)
    few = next(iter(batches.subset(which).epoch(0)))
    y = None if few.y is None or not model.labels else few.y.cpu().numpy()
    arrays = {
        "samples": draw(model, GRID, seed),
        "originals": test.pixels[which],
        "reconstructions": made(model, model, few.x.cpu().numpy(), y),
    }
    if len(mean) > 1:
        walks = between(mean[which[:ROW]], ROW)
        labels = None if y is None else y[: len(walks) // ROW].repeat(ROW)  # of the image a walk starts at
        arrays["interpolation"] = made(model, model.decode, walks, labels)
    if model.labels:
        z = np.random.default_rng(seed).standard_normal((ROW, model.latent), dtype=np.float32)
        many = np.tile(z, (model.labels, 1))  # the same noise for every class: only the label differs
        arrays["samples_by_class"] = made(model, model.generate, many, np.arange(model.labels).repeat(ROW))
    else:
        rng = np.random.default_rng(seed)
        around = centres.repeat(ROW, 0) + 0.5 * rng.standard_normal((len(centres) * ROW, model.latent))
        arrays["around_centres"] = made(model, model.decode, around.astype(np.float32))
    few_points = np.sort(some(len(mean), POINTS, seed))
    if len(few_points) >= FEWEST:
        arrays |= {"embedding": two_dimensions(mean[few_points], seed), "embedding_index": few_points}
    return arrays


def some(total: int, n: int, seed: int) -> np.ndarray:
    """Which n of so many images, in mixed order: those of a folder come class by class."""
    return np.random.default_rng(seed).permutation(total)[:n]


def between(points: np.ndarray, steps: int) -> np.ndarray:
    """Straight walks from each of the first half of the points to its partner in the second half, row by row."""
    half = len(points) // 2
    share = np.linspace(0, 1, steps, dtype=np.float32)[None, :, None]
    walks = points[:half, None] * (1 - share) + points[half : 2 * half, None] * share  # (half, steps, latent)
    return walks.reshape(half * steps, -1).astype(np.float32)


def spread(pixels: np.ndarray, labels: np.ndarray | None = None) -> float:
    """Root mean squared distance from the mean image, or from that of the image's own class."""
    points = pixels.reshape(len(pixels), -1).astype(np.float64)
    groups = [points] if labels is None else [points[labels == c] for c in np.unique(labels)]
    squares = sum(float(((group - group.mean(0)) ** 2).sum()) for group in groups)
    return float(np.sqrt(squares / max(1, len(points) - len(groups))))

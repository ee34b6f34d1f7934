"""How near samples are to real images, in the features of a classifier trained here: no download, never called FID.

Each distance is printed between its floor (real training against real test images) and ceilings (blurred, noise).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

FEWEST = 10  # images that a distance between sets says anything of


def kernel_distance(a: np.ndarray, b: np.ndarray) -> float:
    """KID (1801.01401): unbiased squared MMD with the kernel (x·y/d + 1)³; about 0 for samples of one distribution."""
    d = a.shape[1]

    def kernel(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (x @ y.T / d + 1) ** 3

    aa, bb, ab = kernel(a, a), kernel(b, b), kernel(a, b)
    n, m = len(a), len(b)
    return float((aa.sum() - np.trace(aa)) / (n * (n - 1)) + (bb.sum() - np.trace(bb)) / (m * (m - 1)) - 2 * ab.mean())


def frechet_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Between Gaussians of the two sets' means and covariances: |Δmean|² + tr(A + B - 2 (AB)^½)."""
    gap = a.mean(0) - b.mean(0)
    one, two = (np.atleast_2d(np.cov(x, rowvar=False)) for x in (a, b))
    # tr (AB)^½ by the symmetric A^½ B A^½, whose eigenvalues are those of AB
    values, vectors = np.linalg.eigh(one)
    root = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
    shared = np.sqrt(np.clip(np.linalg.eigvalsh(root @ two @ root), 0, None)).sum()
    return float(gap @ gap + np.trace(one) + np.trace(two) - 2 * shared)


def density_coverage(real: np.ndarray, made: np.ndarray, k: int = 5) -> tuple[float, float]:
    """(2002.09797) Density: real neighbourhoods a sample lies in, of k expected. Coverage: real ones with a sample."""
    radius = np.sort(distances(real, real), 1)[:, min(k, len(real) - 1)]  # column 0 is the image itself
    inside = distances(real, made) < radius[:, None]  # (real, made)
    return float(inside.sum() / (k * len(made))), float(inside.any(1).mean())


def distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Euclidean, (len(a), len(b))."""
    squared = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T
    return np.sqrt(np.maximum(squared, 0))


def nearest(points: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Distance of each point to the nearest of the others, block by block."""
    blocks = [distances(points[i : i + 256], among).min(1) for i in range(0, len(points), 256)]
    return np.concatenate(blocks)


def blurred(pixels: np.ndarray) -> np.ndarray:
    """Each pixel the mean of the 5x5 around it."""
    wide = np.pad(pixels.astype(np.float32), ((0, 0), (0, 0), (2, 2), (2, 2)), mode="edge")
    h, w = pixels.shape[2:]
    total = sum(wide[:, :, i : i + h, j : j + w] for i in range(5) for j in range(5))
    return np.asarray(total / 25).round().astype(np.uint8)


def compare(train: np.ndarray, others: dict[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """Every measure of each set of features against the training images'."""
    rows = {}
    for name, features in others.items():
        density, coverage = density_coverage(train, features)
        rows[name] = {
            "KID": kernel_distance(train, features),
            "Fréchet": frechet_distance(train, features),
            "density": density,
            "coverage": coverage,
        }
    return rows


def judge(run: Any, by: Any, n: int = 2000, seed: int = 0) -> dict[str, Any]:
    """Samples of a generative run, real test images, blurred ones and noise against training images, by a classifier.

    `memorised` is the median distance of samples to their nearest training image, over that of test images: well
    below 1 the model repeats what it has seen.
    """
    from replab.errors import RunError

    for key in ("data", "classes"):
        one, two = (", ".join(v) if isinstance(v, list) else v for v in (run.input[key], by.input[key]))
        if one != two:
            raise RunError(f"run {run.id} learned {key} {one}, run {by.id} {two}; train the classifier on the same")
    if n < FEWEST:
        raise RunError(f"n must be at least {FEWEST}, got {n}; 2000 is the default")
    ready = by.reopened()
    data = ready.data
    n = min(n, len(data.train), len(data.test))
    made = run.generate(n, seed=seed)
    if made.shape[1:] != data.train.pixels.shape[1:]:
        raise RunError(
            f"run {by.id} looks at images of {data.train.pixels.shape[1:]}, run {run.id} makes {made.shape[1:]};"
            " train the classifier at that --size"
        )
    rng = np.random.default_rng(seed)
    train, test = (np.asarray(images.take(n, seed).pixels) for images in (data.train, data.test))
    sets = {
        "real test (floor)": test,
        "samples": made,
        "blurred (ceiling)": blurred(test),
        "noise (ceiling)": rng.integers(0, 256, test.shape, dtype=np.uint8),
    }
    look = extractor(by, ready)
    rows = compare(look(train), {name: look(pixels) for name, pixels in sets.items()})
    flat = {name: pixels.reshape(len(pixels), -1).astype(np.float32) / 255 for name, pixels in sets.items()}
    all_train = data.train.pixels.reshape(len(data.train), -1).astype(np.float32) / 255
    near = {name: float(np.median(nearest(flat[name][:500], all_train))) for name in sets}
    for name, row in rows.items():
        row["memorised"] = near[name] / max(near["real test (floor)"], 1e-9)
    taught = train_on_samples(run, by, ready, made, seed) if getattr(run.model(), "labels", 0) else {}
    return {
        "trained_on": taught,
        "run": run.id,
        "by": by.id,
        "by_model": by.chosen.model,
        "by_accuracy": by.metrics.get("accuracy"),
        "by_weights_sha256": weights_hash(by),
        "images": n,
        "rows": rows,
    }


def train_on_samples(run: Any, by: Any, ready: Any, made: np.ndarray, seed: int) -> dict[str, float]:
    """Test accuracy of the classifier's architecture, trained on labelled samples alone, and on as many real images."""
    from replab.data.images import Images

    labels = np.arange(len(made)) % len(ready.data.train.classes)  # as samples.draw gives them
    sets = {
        "samples": Images(made, labels, ready.data.train.classes, (), ()),
        "real": ready.data.train.take(len(made), seed),
    }
    recipe, accuracy = by.normalised(), {}
    for name, images in sets.items():
        model = ready.model(recipe)
        for _ in ready.fit(model, recipe, train=images):
            pass
        accuracy[name] = ready.evaluate(model, ready.data.test, recipe, trained_on=images).metrics["accuracy"]
    return accuracy


def extractor(by: Any, ready: Any) -> Callable[[np.ndarray], np.ndarray]:
    """pixels → what enters the classifier's head, (N, features) float64."""
    from replab.data.images import Images
    from replab.errors import RunError
    from replab.training.features import penultimate

    model = by.model()
    if ready.backend.name != "torch" or ready.task.name != "classify":
        raise RunError(f"run {by.id} has no linear head whose features could be taken; use a classifier such as cnn")

    def look(pixels: np.ndarray) -> np.ndarray:
        shown = Images(pixels, np.zeros(len(pixels), np.int64), ready.data.train.classes, (), ())
        return penultimate(ready, model, shown, by.normalised(), shown).astype(np.float64)

    return look


def weights_hash(run: Any) -> str:
    from hashlib import sha256

    return sha256(run.record.read_bytes("model.safetensors")).hexdigest()


def lines(judged: dict[str, Any]) -> list[str]:
    """The table, for the terminal."""
    columns = list(next(iter(judged["rows"].values())))
    accuracy = "" if judged["by_accuracy"] is None else f", accuracy {judged['by_accuracy']:.2%}"
    head = (
        f"features of {judged['by_model']} ({judged['by']}{accuracy}, weights {judged['by_weights_sha256'][:12]}),"
        f" {judged['images']:,} images each, against training images"
    )
    width = max(map(len, judged["rows"]))
    table = [" " * width + "".join(f"{c:>12}" for c in columns)]
    table += [f"{name:<{width}}" + "".join(f"{row[c]:>12.4g}" for c in columns) for name, row in judged["rows"].items()]
    if judged["trained_on"]:
        made, real = judged["trained_on"]["samples"], judged["trained_on"]["real"]
        table.append(f"trained on labelled samples alone: {made:.2%} on real test images; on as many real: {real:.2%}")
    return [head, *table]

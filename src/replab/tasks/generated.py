"""The generative part of a report: its numbers in words, its pictures, and whether a GAN failed. Reads the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from replab.records.record import Record

WON = 0.01  # a critic whose loss is below this has nothing left to teach
ALIKE = 0.1  # samples this much less varied than training images are one picture


def failure(rows: list[dict[str, float]], metrics: dict[str, float]) -> str:
    """Why a GAN's training failed, or nothing. (A loss that is not a number ends the training itself.)"""
    reasons = []
    if metrics.get("diversity", 1.0) < ALIKE:
        reasons.append(f"collapsed: samples differ {metrics['diversity']:.1%} as much as training images do")
    if rows and rows[-1].get("train_critic_loss", 1.0) < WON:
        reasons.append(f"the critic won: its loss is {rows[-1]['train_critic_loss']:.2g}")
    return "; ".join(reasons)


def lines(record: Record) -> list[tuple[str, str]]:
    """The facts of a generative run, a line each; none for a classifier."""
    found, rows = record.read_json("metrics.json", {}), record.read_lines("epochs.jsonl")
    said: list[tuple[str, str]] = []
    if "kl" in found:
        variance, ceilings, of = found["decoder_variance"], "", ""
        more, entropy = (" + γ cross-entropy", f"; cross-entropy {found['ce']:.4f}") if "ce" in found else ("", "")
        if "bits_per_dim_mean_image" in found:  # runs of an earlier version have none
            alone = f"{found['bits_per_dim_mean_image']:.4f} by the training images' mean alone"
            ceilings = f" (ceilings: {alone}, 8 by a guess; the floor is the images' entropy, which is not known)"
            of = f" (of {found['latent']:.0f}; 0 when the decoder ignores z)"
        said += [
            ("test loss", f"{found['loss']:.4f} (squared error + β KL{more}, summed over an image, then averaged)"),
            ("squared error, KL", f"{found['mse']:.4f}, {found['kl']:.4f}{entropy}"),
            ("decoder variance", f"{variance:g} (β = {2 * variance:g} implies it: p(x|z) has variance β/2 a pixel)"),
            (
                "bits a dimension",
                f"{found['bits_per_dim']:.4f}; {found['bits_per_dim_fitted']:.4f} at the training error's variance"
                + ceilings,
            ),
            ("active units", f"{found['active_units']:.0f}{of}"),
        ]
    if "cluster_accuracy" in found:
        said.append(
            (
                "K-means on means",
                f"{found['cluster_accuracy']:.2%} fitted and named on train (fitted on test, as published:"
                f" {found['cluster_accuracy_on_test']:.2%}; raw pixels: {found['pixel_cluster_accuracy']:.2%});"
                f" Hungarian {found['hungarian_accuracy']:.2%}, NMI {found['nmi']:.3f}",
            )
        )
    if "batch_total_accuracy" in found:
        said.append(
            (
                "class by p(x|y)",
                f"{found['accuracy']:.2%} per image; one sample {found['one_sample_accuracy']:.2%};"
                f" a batch's total loss, as published: {found['batch_total_accuracy']:.2%};"
                f" another label adds {found['label_swap']:.3g} to an image's loss",
            )
        )
    if "perplexity" in found:
        said += [
            ("test loss", f"{found['loss']:.4f} (squared error {found['mse']:.4f} + commitment, summed over an image)"),
            ("codes of an image", f"{found['prior_loss']:.4f} nats by the prior"),
            ("codes in use", f"{found['perplexity']:.1f} of {found['codes']:.0f}; {found['dead_codes']:.0f} never"),
        ]
    if "diversity" in found:
        said.append(("training", failure(rows, found) or "neither collapsed nor won by the critic"))
        said.append(("diversity", f"{found['diversity']:.2f} of that of training images"))
    return said


def figures(record: Record, kept: dict[str, np.ndarray], seen: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Every picture that the kept arrays have something for."""
    from replab.figures.codebook import codebook
    from replab.figures.gallery import grid
    from replab.figures.latent import latent

    found: dict[str, Callable[[], Any]] = {}
    classes = seen["classes"]
    if "samples" in kept:
        found["samples"] = lambda: grid(kept["samples"], title="samples")
    if "reconstructions" in kept:
        found["reconstructions"] = lambda: grid(
            _rows(kept["originals"], kept["reconstructions"]), title="originals, and below each its reconstruction"
        )
    if "samples_by_class" in kept:
        captions = [c for c in classes for _ in range(8)]
        found["samples_by_class"] = lambda: grid(kept["samples_by_class"], captions, title="samples by class")
    if "around_centres" in kept:
        found["around_centres"] = lambda: grid(kept["around_centres"], title="around each K-means centre, row by row")
    if "interpolation" in kept:
        ends = "test image" if "originals" in kept else "draw of noise"  # a GAN encodes no images
        found["interpolation"] = lambda: grid(kept["interpolation"], title=f"from one {ends} to another, row by row")
    if "codebook_usage" in kept:
        found["codebook"] = lambda: codebook(kept["codebook_usage"])
    if "embedding" in kept:
        which = kept["embedding_index"]
        ways = {}
        if "labels" in kept:
            ways["by class"] = (kept["labels"][which], classes)
        if "cluster" in kept:
            k = int(kept["cluster"].max()) + 1
            ways["by cluster"] = (kept["cluster"][which], [f"cluster {i}" for i in range(k)])
        if "logits" in kept:
            ways["by predicted class"] = (kept["logits"][which].argmax(1), classes)
        found["latent"] = lambda: latent(kept["embedding"], ways)
    return found


def animate(record: Record) -> None:
    """figures/samples.gif of the grids that were kept during training."""
    from replab.figures.samples import animated

    pictures = sorted(record.path("samples").glob("epoch-*.png"))
    if pictures:
        record.write_bytes("figures/samples.gif", animated(pictures))


def _rows(above: np.ndarray, below: np.ndarray, columns: int = 8) -> np.ndarray:
    """Two sets of images as pairs of rows."""
    parts = [part for i in range(0, len(above), columns) for part in (above[i : i + columns], below[i : i + columns])]
    return np.concatenate(parts)

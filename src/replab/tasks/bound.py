"""Importance-weighted bounds on log p(x) and log p(x, y) of the VAE family (1509.00519); noise is per image."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

# images decoded together: all classes and samples of as many images as that allows. More leave the CPU's caches
AT_ONCE = 512


def divergence(mean: Any, logvar: Any) -> Any:
    """KL of N(mean, exp(logvar)) from N(0, I), summed over the latent: (B,)."""
    return -0.5 * (1 + logvar - mean**2 - logvar.exp()).sum(1)


def noise(index: Any, shape: tuple[int, ...], seed: int, like: Tensor) -> Tensor:
    """Standard normal (B, *shape): a function of (seed, image) alone, so no batch changes what an image gets."""
    import torch

    drawn = [np.random.default_rng([seed, int(i)]).standard_normal(shape, dtype=np.float32) for i in index]
    return torch.from_numpy(np.stack(drawn)).to(like.device, like.dtype)


def log_weights(
    model: Any, decode: Any, x: Tensor, features: Tensor, y: Tensor | None, eps: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """log p(x|z) p(z) / q(z|x) of K samples, (N, K); squared errors (N, K); KL (N,). eps is (N, K, latent).

    The decoder's variance is what beta implies, beta/2.
    """
    n, k, latent = eps.shape
    mean, logvar = model.posterior(features, y)
    z = mean[:, None] + (0.5 * logvar).exp()[:, None] * eps  # (N, K, latent)
    decoded = decode(z.reshape(n * k, latent), None if y is None else y.repeat_interleave(k, 0))
    error = ((decoded.reshape(n, k, -1) - x.reshape(n, 1, -1)) ** 2).sum(2)
    log_z = 0.5 * (eps**2 + logvar[:, None] - z**2).sum(2)  # log p(z) - log q(z|x): the constants cancel
    return log_normal(error, x[0].numel(), model.beta / 2) + log_z, error, divergence(mean, logvar)


def log_normal(error: Tensor, dimensions: int, variance: float) -> Tensor:
    """log density of a Gaussian at points of this squared distance from its mean."""
    return -error / (2 * variance) - 0.5 * dimensions * math.log(2 * math.pi * variance)


def class_scores(model: Any, decode: Any, x: Tensor, eps: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """log p(x|y) of every class, (B, classes), and the one-sample losses SSE + beta KL beside it.

    eps (B, K, latent) is the same for every class, so that classes differ by the label alone. The image is encoded
    once, and all classes go through the decoder together.
    """
    import torch

    b, k, _ = eps.shape
    features = model.encoder(x).repeat_interleave(classes, 0)  # (B*C, F)
    y = torch.arange(classes, device=x.device).repeat(b)
    weights, error, kl = log_weights(
        model, decode, x.repeat_interleave(classes, 0), features, y, eps.repeat_interleave(classes, 0)
    )
    scores = torch.logsumexp(weights, 1) - math.log(k)
    return scores.view(b, classes), (error[:, 0] + model.beta * kl).view(b, classes)


def score_classes(
    model: Any, batches: Any, log_prior: np.ndarray, samples: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """log p(x|y) + log p(y), and the one-sample losses, (N, classes) each, of every image."""
    import torch

    classes = len(log_prior)
    step = max(1, AT_ONCE // (classes * samples))
    scores, losses = [], []
    with torch.inference_mode():
        decode = model.fast_decode()
        for batch in batches.epoch(0):
            for x, index in zip(batch.x.split(step), batch.index.split(step)):
                eps = noise(index, (samples, model.latent), seed, x)
                score, loss = class_scores(model, decode, x, eps, classes)
                scores.append(score.double().cpu().numpy() + log_prior)
                losses.append(loss.double().cpu().numpy())
    return np.concatenate(scores), np.concatenate(losses)


def class_accuracies(scores: np.ndarray, losses: np.ndarray, labels: np.ndarray, batch_size: int) -> dict[str, float]:
    """The right way, the one-sample bound, and the published rule: a batch's total loss names all of the batch.

    `label_swap`: how much larger the one-sample loss is with another label, on average; 0 where labels are ignored.
    """
    published = np.concatenate(
        [
            np.full(len(part), part.sum(0).argmin())
            for part in np.split(losses, range(batch_size, len(losses), batch_size))
        ]
    )
    own = losses[np.arange(len(labels)), labels]
    return {
        "label_swap": float((losses.mean(1) - own).mean() * losses.shape[1] / max(1, losses.shape[1] - 1)),
        "accuracy": float((scores.argmax(1) == labels).mean()),
        "one_sample_accuracy": float((losses.argmin(1) == labels).mean()),
        "batch_total_accuracy": float((published == labels).mean()),
    }


def bits_per_dimension(
    model: Any, batches: Any, fitted_variance: Any, images: int, samples: int, seed: int
) -> dict[str, float]:
    """-log2 p(x) per pixel value of the first `images`, at the variance beta implies and at the training error's.

    p is the density at the pixels times the width of one of their 256 steps.
    """
    import torch

    low, high = model.pixel_range
    step, dimensions = max(1, AT_ONCE // samples), math.prod(batches.shape)
    totals, done = np.zeros(2), 0
    with torch.inference_mode():
        decode = model.fast_decode()
        for batch in batches.epoch(0):
            for start in range(0, min(len(batch.index), images - done), step):
                stop = min(start + step, len(batch.index), start + images - done)
                x, y = batch.x[start:stop], None if batch.y is None else batch.y[start:stop]
                eps = noise(batch.index[start:stop], (samples, model.latent), seed, x)
                features, label = model.encoder(x), y if model.labels else None
                weights, error, _ = log_weights(model, decode, x, features, label, eps)
                other = max(float(fitted_variance), 1e-6)
                moved = log_normal(error, dimensions, other) - log_normal(error, dimensions, model.beta / 2)
                for place, each in enumerate((weights, weights + moved)):
                    totals[place] += float((torch.logsumexp(each, 1) - math.log(samples)).double().sum())
                done += len(x)
            if done >= images:
                break
    width = math.log((high - low) / 255)
    bits = -(totals / done / dimensions + width) / math.log(2)
    return {"bits_per_dim": float(bits[0]), "bits_per_dim_fitted": float(bits[1])}


def gaussian_bits(error: float, variance: float) -> float:
    """Bits per dimension of pixels in [0, 1], in 256 steps, under a Gaussian at this mean squared distance."""
    variance = max(variance, 1e-6)
    return (error / (2 * variance) + 0.5 * math.log(2 * math.pi * variance) + math.log(255)) / math.log(2)

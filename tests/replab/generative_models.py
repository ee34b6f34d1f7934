"""A linear-Gaussian conditional model whose p(x|y) is known exactly; and whether pictures show anything."""

from __future__ import annotations

import math

import numpy as np
import torch
from PIL import Image
from torch import nn


class LinearGaussian(nn.Module):
    """x = W z + shift[y] + N(0, beta/2); its posterior is exact, so every importance weight is log p(x|y) itself."""

    labels, head, samples, pixel_range = 3, None, 5, (0.0, 1.0)

    def __init__(self, latent: int = 2, side: int = 2, beta: float = 0.5):
        super().__init__()
        generator = torch.Generator().manual_seed(1)
        self.latent, self.beta, self.side = latent, beta, side
        self.weight = nn.Parameter(torch.randn(side * side, latent, generator=generator))
        self.shift = nn.Parameter(torch.randn(self.labels, side * side, generator=generator))
        self.encoder = nn.Flatten()

    def posterior(self, features, y=None):
        """The mean is exact; the covariance too, where W's columns are orthogonal (see `orthogonal`)."""
        precision = torch.eye(self.latent) + self.weight.T @ self.weight / (self.beta / 2)
        covariance = torch.linalg.inv(precision)
        mean = (features - self.shift[y]) @ self.weight @ covariance / (self.beta / 2)
        return mean, covariance.diagonal().log().expand(len(features), -1)

    def decode(self, z, y=None):
        return (z @ self.weight.T + self.shift[y]).view(len(z), 1, self.side, self.side)

    def fast_decode(self):
        return self.decode

    def orthogonal(self):
        with torch.no_grad():
            self.weight.copy_(torch.linalg.qr(self.weight)[0] * torch.tensor([2.0, 0.5]))
        return self

    def log_likelihood(self, x):
        """log p(x|y) of every class, (B, labels), by the closed form."""
        d = self.side**2
        covariance = self.weight @ self.weight.T + self.beta / 2 * torch.eye(d)
        gap = x.flatten(1)[:, None] - self.shift  # (B, labels, d)
        quadratic = torch.einsum("bld,de,ble->bl", gap, torch.linalg.inv(covariance), gap)
        return -0.5 * (quadratic + torch.logdet(covariance) + d * math.log(2 * math.pi))


def not_blank(paths):
    for path in paths:
        with Image.open(path) as picture:
            assert np.asarray(picture.convert("L")).std() > 5, path

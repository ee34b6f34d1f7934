"""A trained model with all that stands around it in a run, as one module: pixels in, probabilities out.

It computes with tensors alone, sizes of images too, so that each exporter can follow it with no size fixed.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from replab.models.adapt.views import over_views


class Classifier(nn.Module):
    """uint8 images (N, C, H, W) of any height and width → probabilities (N, classes).

    Images become the model's square as replab reads files, bilinear with antialiasing: `fit` crops the middle, pads
    with black or squishes. A model of oblong images takes images of its own size alone. `views`: those of --tta.
    """

    inputs, output = ("images",), "probabilities"
    scale: Tensor
    shift: Tensor
    places: Tensor

    def __init__(
        self,
        net: nn.Module,
        size: tuple[int, int, int],
        mean: Sequence[float] | None,
        std: Sequence[float] | None,
        fit: str = "crop",
        views: str = "none",
    ):
        super().__init__()
        channels, height, width = size
        self.net, self.size, self.fit, self.views = _on_cpu(net), size, fit, views
        self.side = height if height == width else None
        deviation = torch.tensor(std or [1.0] * channels, dtype=torch.float64)
        offset = torch.tensor(mean or [0.0] * channels, dtype=torch.float64)
        self.register_buffer("scale", (1 / (255 * deviation)).float().view(1, -1, 1, 1))
        self.register_buffer("shift", (-offset / deviation).float().view(1, -1, 1, 1))
        self.register_buffer("places", torch.arange(height) + 0.5)  # centres of the pixels that are wanted

    def forward(self, images: Tensor) -> Tensor:
        x = images.float()
        if self.side is not None:
            x = self.squared(x, self.side)
        return over_views(self.net, x * self.scale + self.shift, self.views).float().softmax(1)

    def squared(self, x: Tensor, side: int) -> Tensor:
        """(N, C, H, W) → (N, C, side, side): one matrix per direction, each result rounded to whole gray levels."""
        down, across = torch.ones_like(x[0, 0, :, 0]), torch.ones_like(x[0, 0, 0])  # (H,), (W,)
        height, width = down.sum(), across.sum()
        kept = torch.minimum(height, width) if self.fit == "crop" else torch.maximum(height, width)
        x = (self.weights(down, kept, side).T @ x + 0.5).floor()  # (N, C, side, W)
        return (x @ self.weights(across, kept, side) + 0.5).floor()

    def weights(self, ones: Tensor, kept: Tensor, side: int) -> Tensor:
        """(length, side): what each pixel of a direction adds to each pixel that is wanted. `ones`: (length,).

        `kept`: the length that becomes the side. What is wanted outside the resized image is black.
        """
        length = ones.sum()
        scaled = (length * side / (length if self.fit == "squish" else kept)).round().clamp(min=1)
        scaled = scaled.clamp(min=side) if self.fit == "crop" else scaled.clamp(max=side)
        places, step = self.places + ((scaled - side) / 2).floor(), length / scaled
        distance = (ones.cumsum(0)[:, None] - 0.5 - places * step).abs() / step.clamp(min=1)
        triangle = (1 - distance).relu()
        inside = (places > 0).float() * (places < scaled).float()
        return triangle / triangle.sum(0).clamp(min=1e-6) * inside

    def example(self, rows: int, seed: int = 0) -> tuple[Tensor, ...]:
        """Random images, larger than the model's where it resizes: an exporter takes equal sizes for one size."""
        channels, height, width = self.size
        shape = (rows, channels, height, width) if self.side is None else (rows, channels, height + 3, width + 5)
        generator = torch.Generator().manual_seed(seed)
        return (torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator),)

    @property
    def free(self) -> dict[str, dict[int, str]]:
        """The dimensions that may be anything."""
        return {"images": {0: "images"} if self.side is None else {0: "images", 2: "height", 3: "width"}}


class Generator(nn.Module):
    """Standard normal noise (N, latent), and class numbers (N,) where it is told them → images (N, C, H, W), 0 to 1."""

    output = "images"

    def __init__(self, net: nn.Module):
        super().__init__()
        self.net = _on_cpu(net)
        self.labels, self.latent = int(getattr(net, "labels", 0)), int(net.latent)  # type: ignore[arg-type]
        self.low, self.high = net.pixel_range  # type: ignore[misc]
        self.inputs = ("noise", "labels") if self.labels else ("noise",)

    def forward(self, noise: Tensor, labels: Tensor | None = None) -> Tensor:
        images: Tensor = self.net.generate(noise, labels)  # type: ignore[operator]
        return ((images.float() - self.low) / (self.high - self.low)).clamp(0, 1)

    def example(self, rows: int, seed: int = 0) -> tuple[Tensor, ...]:
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn(rows, self.latent, generator=generator)
        return (noise, torch.arange(rows) % self.labels) if self.labels else (noise,)

    @property
    def free(self) -> dict[str, dict[int, str]]:
        return {name: {0: "images"} for name in self.inputs}


Deployed = Classifier | Generator


def _on_cpu(net: nn.Module) -> nn.Module:
    """A copy in eval mode with plain memory order: the run's own model stays as it is."""
    return copy.deepcopy(net).to("cpu", memory_format=torch.contiguous_format).float().eval()

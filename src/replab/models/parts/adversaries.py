"""Generator and critic of the GAN family, for images of any size from 8x8: 64x64 has four stages, 32x32 three."""

from collections.abc import Mapping

import torch
from torch import nn
from torch.nn import functional

from replab.data.images import ImageSpec


class Adversaries(nn.Module):
    """Generator and critic. `labels` (0: none): the generator is given the class, and the critic predicts it."""

    pixel_range = (-1.0, 1.0)

    def __init__(
        self, image: ImageSpec, latent: int, width: int, labels: int = 0, terms: Mapping[str, bool] | None = None
    ):
        super().__init__()
        self.latent, self.labels, self.size = latent, labels, (image.height, image.width)
        self.terms = dict(terms or {"class_on_real": False, "class_on_fake": False, "adversarial": True})
        self.critic = Critic(image, width, labels)
        self.generator = Generator(image, latent + labels, width)
        for module in self.modules():  # as published: N(0, 0.02), BatchNorm around 1
            if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
                nn.init.normal_(module.weight, 0.0, 0.02)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.normal_(module.weight, 1.0, 0.02)

    def generate(self, z, y=None):
        """Images in [-1, 1] of standard normal noise (B, latent) and class numbers (None: all classes equally)."""
        if self.labels:
            if y is None:
                told = z.new_full((z.shape[0], self.labels), 1 / self.labels)
            else:
                told = functional.one_hot(y, self.labels).to(z.dtype)
            z = torch.cat([z, told], 1)
        return self.generator(z)

    def forward(self, x):
        """The critic's output for images: (real or not, class logits or None)."""
        return self.critic(x)


def stages(image: ImageSpec) -> int:
    """Halvings until about 4x4 is left: 4 at 64x64, 3 at 32x32, 2 at 28x28 (which ends at 7x7), 1 at 8x8."""
    return max(1, (min(image.height, image.width) // 4).bit_length() - 1)


class Critic(nn.Module):
    def __init__(self, image: ImageSpec, width: int, labels: int):
        super().__init__()
        layers: list[nn.Module] = []
        fan_in, height, length = image.channels, image.height, image.width
        for stage in range(stages(image)):
            fan_out = width * 2**stage
            layers.append(nn.Conv2d(fan_in, fan_out, 4, stride=2, padding=1, bias=stage == 0))
            layers += [nn.BatchNorm2d(fan_out)] if stage else []  # none on the pixels themselves
            layers.append(nn.LeakyReLU(0.2))
            fan_in, height, length = fan_out, height // 2, length // 2
        self.features = nn.Sequential(*layers)
        self.real = nn.Conv2d(fan_in, 1, (height, length), bias=False)
        self.kind = nn.Conv2d(fan_in, labels, (height, length)) if labels else None

    def forward(self, x):
        found = self.features(x)
        return self.real(found).flatten(), None if self.kind is None else self.kind(found).flatten(1)


class Generator(nn.Module):
    def __init__(self, image: ImageSpec, latent: int, width: int):
        super().__init__()
        n = stages(image)
        start = (-(-image.height // 2**n), -(-image.width // 2**n))
        fan_in = width * 2 ** (n - 1)
        layers: list[nn.Module] = [
            nn.ConvTranspose2d(latent, fan_in, start, bias=False),
            nn.BatchNorm2d(fan_in),
            nn.ReLU(),
        ]
        for _ in range(n - 1):
            layers += [
                nn.ConvTranspose2d(fan_in, fan_in // 2, 4, stride=2, padding=1, bias=False),
                nn.BatchNorm2d(fan_in // 2),
                nn.ReLU(),
            ]
            fan_in //= 2
        layers += [nn.ConvTranspose2d(fan_in, image.channels, 4, stride=2, padding=1), nn.Tanh()]
        self.layers = nn.Sequential(*layers)
        self.size = (image.height, image.width)

    def forward(self, z):
        wide = self.layers(z[:, :, None, None])
        top, left = (wide.shape[2] - self.size[0]) // 2, (wide.shape[3] - self.size[1]) // 2
        return wide[:, :, top : top + self.size[0], left : left + self.size[1]]

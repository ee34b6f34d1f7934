"""The networks of the VAE family: a convolutional encoder to a Gaussian, a decoder back, labels joined to both."""

import torch
from torch import nn
from torch.nn import functional

from replab.data.images import ImageSpec
from replab.models.parts.blocks import ToPixels, conv_bn_relu

CHANNELS = (64, 128, 256)  # of the encoder's blocks; the decoder has them backwards


class Autoencoder(nn.Module):
    """p(z) = N(0, I), q(z|x) = N(mu, exp(logvar)), p(x|z) = N(decoded, beta/2): squared error + beta KL is its bound.

    `labels` (0: none) are joined, one-hot, to the encoder's features and to z. `head` adds a linear classifier on the
    features, which see the image alone. The settings of the loss (`beta`, `gamma`) are kept here for the task to read.
    """

    def __init__(
        self,
        image: ImageSpec,
        latent: int,
        output: str,
        beta: float,
        labels: int = 0,
        head: bool = False,
        gamma: float = 0.0,
        samples: int = 10,
        reconstructs: bool = True,
    ):
        super().__init__()
        self.latent, self.output, self.beta, self.gamma = latent, output, beta, gamma
        self.labels, self.samples, self.reconstructs = labels, samples, reconstructs
        self.size = (image.height, image.width)
        layers: list[nn.Module] = []
        fan_in = image.channels
        for fan_out in CHANNELS:
            layers += conv_bn_relu(fan_in, fan_out, pool=2)
            fan_in = fan_out
        self.encoder = nn.Sequential(*layers, nn.Flatten())
        features = fan_in * (image.height // 8) * (image.width // 8)
        self.mean = nn.Linear(features + labels, latent)
        self.logvar = nn.Linear(features + labels, latent)
        # 28 is not a multiple of 8: the decoder makes the next larger size, and its middle is kept
        self.start = (fan_in, -(-image.height // 8), -(-image.width // 8))
        self.expand = nn.Linear(latent + labels, self.start[0] * self.start[1] * self.start[2])
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(256, 128, 4, stride=2, padding=1),
            nn.BatchNorm2d(128),
            nn.ReLU(),
            nn.ConvTranspose2d(128, 64, 4, stride=2, padding=1),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            ToPixels(64, image.channels),
            nn.Tanh() if output == "tanh" else nn.Sigmoid(),
        )
        self.head = nn.Linear(features, labels) if head else None

    @property
    def pixel_range(self) -> tuple[float, float]:
        """Of the images it takes and makes."""
        return (-1.0, 1.0) if self.output == "tanh" else (0.0, 1.0)

    def posterior(self, features, y=None):
        """(mu, logvar), each (B, latent), from the encoder's features (B, F) and the labels."""
        joined = self.join(features, y)
        return self.mean(joined), self.logvar(joined)

    def join(self, values, y=None):
        """values with the labels beside them. `y`: class numbers, or shares (B, labels); None: all classes equally."""
        if not self.labels:
            return values
        if y is None:
            shares = values.new_full((values.shape[0], self.labels), 1 / self.labels)
        else:
            shares = y if y.dim() == 2 else functional.one_hot(y, self.labels)
        return torch.cat([values, shares.to(values.dtype)], 1)

    def decode(self, z, y=None):
        """z (B, latent) → images (B, C, H, W)."""
        return self.cropped(self.decoder(self.expand(self.join(z, y)).view(-1, *self.start)))

    def cropped(self, wide):
        top, left = (wide.shape[2] - self.size[0]) // 2, (wide.shape[3] - self.size[1]) // 2
        return wide[:, :, top : top + self.size[0], left : left + self.size[1]]

    def fast_decode(self):
        """decode() of a model in eval mode, for many z: about half the work.

        Up to the first ReLU all is affine in (z, y): one matrix instead of a linear layer, a transposed convolution and
        a BatchNorm. What it does to the axes tells it. The second BatchNorm goes into its convolution.
        """
        from torch.nn.utils.fusion import fuse_conv_bn_eval  # mytorch does not have it

        first, (relu, conv, norm, *rest) = self.decoder[:2], self.decoder[2:]
        rest = nn.Sequential(relu, fuse_conv_bn_eval(conv, norm, transpose=True), *rest)
        axes = torch.eye(self.expand.in_features, device=self.expand.weight.device)
        ends = first(self.expand(torch.cat([torch.zeros_like(axes[:1]), axes])).view(-1, *self.start))
        ends = ends.permute(0, 2, 3, 1)  # channels last, which convolutions prefer
        shape, origin = ends.shape[1:], ends[0].flatten()
        matrix = ends[1:].flatten(1) - origin  # (latent + labels, values)

        def decode(z, y=None):
            started = torch.addmm(origin, self.join(z, y), matrix).view(-1, *shape)
            return self.cropped(rest(started.permute(0, 3, 1, 2)))

        return decode

    def generate(self, z, y=None):
        """Images of standard normal noise (B, latent)."""
        return self.decode(z, y)

    def forward(self, x, y=None):
        """The reconstruction from the posterior's mean."""
        features = self.encoder(x)
        if self.head is not None:
            self.head(features)  # in the same pass, so that tables and MACs include it
        return self.decode(self.posterior(features, y)[0], y)

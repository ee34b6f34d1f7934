"""VQ-VAE: a picture as a grid of codes from a codebook, and a small autoregressive prior over them (1711.00937)."""

import math

import torch
from torch import nn
from torch.nn import functional

from replab.data.images import ImageSpec
from replab.errors import ModelError
from replab.models.parts.blocks import ToPixels
from replab.models.registry import register
from replab.models.rules import at_least, one_of, positive, whole

IDLE = 0.1  # grid places per step: a code chosen less often is not in use


@register(task="quantise")
def vq_vae(
    image: ImageSpec,
    *,
    codes: int = 128,
    width: int = 64,
    commitment: float = 0.25,
    update: str = "ema",
    output: str = "sigmoid",
) -> nn.Module:
    """`codes` of `width` numbers each, moved by moving averages (`update=ema`) or by gradient (`update=gradient`)."""
    whole("vq-vae", "codes", codes, 2)
    whole("vq-vae", "width", width)
    positive("vq-vae", "commitment", commitment)
    one_of("vq-vae", "update", update, ("ema", "gradient"))
    one_of("vq-vae", "output", output, ("sigmoid", "tanh"))
    at_least("vq-vae", image, 8)
    if image.height % 4 or image.width % 4:
        raise ModelError(
            f"vq-vae needs a height and width that 4 divides, got {image.height}x{image.width};"
            f" --size {image.height // 4 * 4} resizes"
        )
    return Quantised(image, codes, width, commitment, update, output)


class Quantised(nn.Module):
    """Encoder to a grid a quarter as high and wide, nearest codes, decoder; and the prior of the grids."""

    labels = 0

    def __init__(self, image: ImageSpec, codes: int, width: int, commitment: float, update: str, output: str):
        super().__init__()
        self.codes, self.commitment, self.update, self.output = codes, commitment, update, output
        self.grid = (image.height // 4, image.width // 4)
        self.latent = self.grid[0] * self.grid[1]  # one number of noise per code
        self.encoder = nn.Sequential(
            nn.Conv2d(image.channels, width, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(2 * width, width, 3, padding=1),
        )
        self.decoder = nn.Sequential(
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(2 * width, width, 4, stride=2, padding=1),
            nn.ReLU(),
            ToPixels(width, image.channels),
            nn.Tanh() if output == "tanh" else nn.Sigmoid(),
        )
        start = torch.randn(codes, width) / math.sqrt(width)
        if update == "ema":
            self.register_buffer("codebook", start)
            self.register_buffer("counts", torch.zeros(codes))  # moving averages: how often each code is nearest,
            self.register_buffer("sums", start.clone())  # and the sum of what it is nearest to
        else:
            self.codebook = nn.Parameter(start)
        self.prior = Prior(codes, width)

    @property
    def pixel_range(self) -> tuple[float, float]:
        return (-1.0, 1.0) if self.output == "tanh" else (0.0, 1.0)

    def nearest(self, encoded):
        """(B, D, h, w) → numbers of the nearest codes, (B, h, w)."""
        points = encoded.detach().permute(0, 2, 3, 1).flatten(0, 2)  # (B*h*w, D)
        book = self.codebook.detach()
        return ((book**2).sum(1) - 2 * points @ book.T).argmin(1).view(len(encoded), *self.grid)

    def look_up(self, index):
        """(B, h, w) → (B, D, h, w)."""
        return functional.embedding(index, self.codebook).permute(0, 3, 1, 2)

    def forward(self, x):
        """The reconstruction; the gradient passes the codebook as if it were not there (straight-through)."""
        encoded = self.encoder(x)
        chosen = self.look_up(self.nearest(encoded))
        return self.decoder(encoded + (chosen - encoded).detach())

    @torch.no_grad()
    def move_codes(self, encoded, index, keep: float = 0.99):
        """One step of the moving averages: each code goes towards the mean of what chose it.

        A code that nothing chose for long, and at the first step every code, starts anew at a point of this batch:
        far from all points it would never be chosen.
        """
        points = encoded.detach().permute(0, 2, 3, 1).flatten(0, 2)
        idle = self.counts < IDLE
        chosen = functional.one_hot(index.flatten(), self.codes).to(points.dtype)  # (N, codes)
        self.counts.mul_(keep).add_(chosen.sum(0), alpha=1 - keep)
        self.sums.mul_(keep).add_(chosen.T @ points, alpha=1 - keep)
        drawn = points[torch.randint(len(points), (self.codes,), device=points.device)]
        self.sums.copy_(torch.where(idle[:, None], drawn, self.sums))
        self.counts.masked_fill_(idle, 1.0)
        self.codebook.copy_(self.sums / self.counts[:, None])

    def generate(self, z, y=None):
        """Images of standard normal noise (B, h*w): each code is drawn from the prior by its own number."""
        share = 0.5 * (1 + torch.erf(z / math.sqrt(2)))  # uniform
        index = torch.zeros(z.shape[0], *self.grid, dtype=torch.int64, device=z.device)
        for place in range(self.latent):
            row, column = divmod(place, self.grid[1])
            reached = self.prior(index)[:, :, row, column].softmax(1).cumsum(1)
            index[:, row, column] = (reached < share[:, place, None]).sum(1).clamp(max=self.codes - 1)
        return self.decoder(self.look_up(index))


class Masked(nn.Conv2d):
    """A convolution that sees what is above and to the left; with `itself`, its own place too."""

    def __init__(self, fan_in: int, fan_out: int, kernel: int, itself: bool):
        super().__init__(fan_in, fan_out, kernel, padding=kernel // 2)
        middle = kernel // 2
        mask = torch.zeros(kernel, kernel)
        mask[:middle] = 1
        mask[middle, : middle + itself] = 1
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x):
        return functional.conv2d(x, self.weight * self.mask, self.bias, padding=self.padding)


class Prior(nn.Module):
    """Logits of each code given those before it in reading order: a small PixelCNN (1601.06759)."""

    def __init__(self, codes: int, width: int):
        super().__init__()
        self.embedding = nn.Embedding(codes, width)
        self.layers = nn.Sequential(
            Masked(width, width, 5, itself=False),
            nn.ReLU(),
            Masked(width, width, 3, itself=True),
            nn.ReLU(),
            Masked(width, width, 3, itself=True),
            nn.ReLU(),
            nn.Conv2d(width, codes, 1),
        )

    def forward(self, index):
        """(B, h, w) → (B, codes, h, w)."""
        return self.layers(self.embedding(index).permute(0, 3, 1, 2))

"""A small diffusion model: a U-Net that predicts the noise in an image (2006.11239), sampled by DDIM (2010.02502).

The share of signal falls with time by the cosine schedule of 2102.09672. Pixels are in [-1, 1].
"""

import math

import torch
from torch import nn
from torch.nn import functional

from replab.data.images import ImageSpec
from replab.errors import ModelError
from replab.models.parts.attention import Attention
from replab.models.registry import register
from replab.models.rules import at_least, whole

GROUPS = 8  # of GroupNorm: channels are a multiple of it
KNOWN = 0.999  # the most noise a single step may add: at the end of the cosine schedule it would be all
SEEN = 1e-4  # share of signal at which sampling begins: dividing by less makes errors of rounding visible


@register(task="denoise")
def ddpm(image: ImageSpec, *, width: int = 32, levels: int = 1000, draws: int = 25) -> nn.Module:
    """`width` channels at full size, twice as many below; trained on `levels` of noise, sampled in `draws` steps."""
    whole("ddpm", "width", width, GROUPS)
    whole("ddpm", "levels", levels, 2)
    whole("ddpm", "draws", draws)
    if width % GROUPS:
        raise ModelError(
            f"ddpm needs a width that {GROUPS} divides, got {width}; --set width={width // GROUPS * GROUPS}"
        )
    if draws > levels:
        raise ModelError(f"ddpm needs at most as many draws as levels ({levels}), got {draws}; --set draws={levels}")
    at_least("ddpm", image, 8)
    if image.height % 4 or image.width % 4:
        raise ModelError(
            f"ddpm needs a height and width that 4 divides, got {image.height}x{image.width};"
            f" --size {image.height // 4 * 4} resizes"
        )
    return Diffusion(image, width, levels, draws)


class Diffusion(nn.Module):
    """The U-Net and its noise schedule. An image x at level t is sqrt(signal[t]) x + sqrt(1 - signal[t]) noise."""

    pixel_range = (-1.0, 1.0)
    labels = 0

    def __init__(self, image: ImageSpec, width: int, levels: int, draws: int):
        super().__init__()
        self.shape = (image.channels, image.height, image.width)
        self.latent, self.levels, self.draws = math.prod(self.shape), levels, draws
        self.network = UNet(image.channels, width)
        self.register_buffer("signal", cosine(levels), persistent=False)
        self.first = max(int((self.signal >= SEEN).sum()) - 1, 0)  # the level that sampling begins at

    def forward(self, x, level=None):
        """The noise in images (B, C, H, W) at levels (B,); without levels, as if they were at the middle one."""
        if level is None:
            level = torch.full((len(x),), self.levels // 2, device=x.device)
        return self.network(x, level / self.levels)

    def noised(self, x, level, noise):
        signal = self.signal[level].view(-1, 1, 1, 1)
        return signal.sqrt() * x + (1 - signal).sqrt() * noise

    def clean(self, x, level, noise):
        """The image that this noise was added to, held inside the range of pixels."""
        signal = self.signal[level].view(-1, 1, 1, 1)
        return ((x - (1 - signal).sqrt() * noise) / signal.sqrt()).clamp(-1, 1)

    def generate(self, z, y=None):
        """Images of standard normal noise (B, C*H*W). DDIM without fresh noise: the same z gives the same image."""
        x = z.view(-1, *self.shape)
        times = torch.linspace(self.first, 0, self.draws, device=z.device).round().long()
        for step, time in enumerate(times):
            level = time.expand(x.shape[0])
            image = self.clean(x, level, self(x, level))
            if step + 1 == len(times):
                return image
            # the noise that agrees with the image as it was held inside the range
            signal = self.signal[time]
            left = (x - signal.sqrt() * image) / (1 - signal).sqrt()
            x = self.noised(image, times[step + 1].expand(x.shape[0]), left)
        return x


def cosine(levels: int) -> torch.Tensor:
    """The share of signal after each level, (levels,), from almost 1 to almost 0."""
    time = torch.arange(levels + 1, dtype=torch.float64) / levels
    share = torch.cos((time + 0.008) / 1.008 * math.pi / 2) ** 2
    kept = (share[1:] / share[:-1]).clamp(min=1 - KNOWN)
    return kept.cumprod(0).float()


class UNet(nn.Module):
    """Three resolutions, two residual blocks each on the way down and up, attention at the lowest."""

    def __init__(self, channels: int, width: int):
        super().__init__()
        wide, told = 2 * width, 4 * width
        self.frequencies = width
        self.time = nn.Sequential(nn.Linear(width, told), nn.SiLU(), nn.Linear(told, told), nn.SiLU())
        self.enter = nn.Conv2d(channels, width, 3, padding=1)
        self.down1 = Residual(width, width, told)
        self.halve1 = nn.Conv2d(width, width, 3, stride=2, padding=1)
        self.down2 = Residual(width, wide, told)
        self.halve2 = nn.Conv2d(wide, wide, 3, stride=2, padding=1)
        self.low1 = Residual(wide, wide, told)
        self.norm = nn.GroupNorm(GROUPS, wide)
        self.attention = Attention(wide, heads=4)
        self.low2 = Residual(wide, wide, told)
        self.up2 = Residual(2 * wide, wide, told)
        self.up1 = Residual(wide + width, width, told)
        self.leave = nn.Sequential(nn.GroupNorm(GROUPS, width), nn.SiLU(), nn.Conv2d(width, channels, 3, padding=1))
        nn.init.zeros_(self.leave[-1].weight)  # at first it predicts no noise at all, whatever the image

    def forward(self, x, time):
        """Noise of the images (B, C, H, W) at times (B,) in [0, 1)."""
        told = self.time(waves(time, self.frequencies))
        full = self.down1(self.enter(x), told)
        half = self.down2(self.halve1(full), told)
        low = self.low1(self.halve2(half), told)
        tokens = self.norm(low).flatten(2).transpose(1, 2)  # (B, h*w, channels)
        low = low + self.attention(tokens).transpose(1, 2).view_as(low)
        low = self.low2(low, told)
        half = self.up2(torch.cat([doubled(low), half], 1), told)
        return self.leave(self.up1(torch.cat([doubled(half), full], 1), told))


class Residual(nn.Module):
    """x + f(x, time): GroupNorm, SiLU, convolution, twice; the time is added between them."""

    def __init__(self, fan_in: int, fan_out: int, told: int):
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(GROUPS, fan_in), nn.SiLU(), nn.Conv2d(fan_in, fan_out, 3, padding=1))
        self.told = nn.Linear(told, fan_out)
        self.second = nn.Sequential(nn.GroupNorm(GROUPS, fan_out), nn.SiLU(), nn.Conv2d(fan_out, fan_out, 3, padding=1))
        self.skip = nn.Identity() if fan_in == fan_out else nn.Conv2d(fan_in, fan_out, 1)

    def forward(self, x, told):
        inner = self.first(x) + self.told(told)[:, :, None, None]
        return self.skip(x) + self.second(inner)


def waves(time, count: int):
    """Sines and cosines of the times, (B, count), from slow to fast: 1 to 1,000 periods of 2 pi over [0, 1)."""
    frequency = torch.exp(torch.linspace(0, math.log(1000), count // 2, device=time.device))
    angle = time[:, None] * frequency
    return torch.cat([angle.sin(), angle.cos()], 1)


def doubled(x):
    return functional.interpolate(x, scale_factor=2, mode="nearest")

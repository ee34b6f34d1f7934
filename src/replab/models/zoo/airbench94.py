"""airbench94 (Keller Jordan, 2404.00498): 94.0 % on CIFAR-10 in 8 epochs; 1,971,352 parameters that train.

Whitened patches, then three groups of two 3x3 convolutions that begin as identities, with BatchNorm biases alone.
`head="unit"` is airbench94_spectral: weights of variance 1, logits divided by the width. `head="torch"` is airbench94:
the layer as torch makes it, logits divided by 9. Its settings beside the network are in airbench94.toml.
"""

from torch import nn

from replab.data.images import ImageSpec
from replab.models.parts.whitening import Whitening
from replab.models.registry import register
from replab.models.rules import at_least, one_of, whole


class BiasNorm(nn.BatchNorm2d):
    """BatchNorm whose only parameter is the bias, with statistics of the last few batches."""

    def __init__(self, channels: int):
        super().__init__(channels, eps=1e-12, momentum=0.4)
        self.weight = None


class Divided(nn.Module):
    def __init__(self, by: float):
        super().__init__()
        self.by = by

    def forward(self, x):
        return x / self.by


def convolution(fan_in: int, fan_out: int) -> nn.Conv2d:
    """3x3, the first `fan_in` outputs being the inputs themselves."""
    layer = nn.Conv2d(fan_in, fan_out, 3, padding=1, bias=False)
    nn.init.dirac_(layer.weight.detach()[: min(fan_in, fan_out)])
    return layer


def group(fan_in: int, fan_out: int) -> list[nn.Module]:
    """Half the height and width, `fan_out` channels."""
    first = [convolution(fan_in, fan_out), nn.MaxPool2d(2), BiasNorm(fan_out), nn.GELU()]
    return [*first, convolution(fan_out, fan_out), BiasNorm(fan_out), nn.GELU()]


@register
def airbench94(image: ImageSpec, *, width: int = 64, head: str = "unit") -> nn.Module:
    at_least("airbench94", image, 9)  # the whitened patches leave 8
    whole("airbench94", "width", width)
    one_of("airbench94", "head", head, ("unit", "torch"))
    whitened = Whitening(image.channels)
    last = nn.Linear(4 * width, image.classes, bias=False)
    if head == "unit":
        last.weight.data /= last.weight.data.std()
    return nn.Sequential(
        whitened,
        nn.GELU(),
        *group(whitened.out_channels, width),
        *group(width, 4 * width),
        *group(4 * width, 4 * width),
        nn.AdaptiveMaxPool2d(1),  # of the 3x3 that are left of 32x32
        nn.Flatten(),
        last,
        Divided(4 * width if head == "unit" else 9),
    )

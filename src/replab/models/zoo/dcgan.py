"""DC-GAN: strided convolutions against transposed ones, BatchNorm in both (1511.06434). notes/dcgan: pictures."""

from torch import nn

from replab.data.images import ImageSpec
from replab.models.parts.adversaries import Adversaries
from replab.models.registry import register
from replab.models.rules import at_least, whole


@register(task="adversarial")
def dcgan(image: ImageSpec, *, latent: int = 100, width: int = 64) -> nn.Module:
    """`width` channels in the critic's first layer, twice as many in each further one; tanh output."""
    whole("dcgan", "latent", latent)
    whole("dcgan", "width", width)
    at_least("dcgan", image, 8, 32)
    return Adversaries(image, latent, width)

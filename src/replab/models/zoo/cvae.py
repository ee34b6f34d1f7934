"""CVAE: the VAE with the label joined to features and z; it classifies by p(x|y). notes/cvae: 2,651,459 parameters."""

from torch import nn

from replab.data.images import ImageSpec
from replab.models.parts.autoencoder import Autoencoder
from replab.models.registry import register
from replab.models.rules import at_least, classes, one_of, positive, whole


@register(task="reconstruct")
def cvae(
    image: ImageSpec, *, latent: int = 128, beta: float = 1.0, output: str = "sigmoid", samples: int = 10
) -> nn.Module:
    """`samples`: how many z per class are drawn for the class score."""
    whole("cvae", "latent", latent)
    whole("cvae", "samples", samples)
    positive("cvae", "beta", beta)
    one_of("cvae", "output", output, ("sigmoid", "tanh"))
    at_least("cvae", image, 8)
    return Autoencoder(image, latent, output, beta, labels=classes("cvae", image), samples=samples)

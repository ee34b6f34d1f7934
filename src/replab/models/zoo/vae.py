"""VAE: 3 conv blocks to a Gaussian of 128, transposed convs back (1312.6114). notes/vae-kmeans: 2,607,939."""

from torch import nn

from replab.data.images import ImageSpec
from replab.models.parts.autoencoder import Autoencoder
from replab.models.registry import register
from replab.models.rules import at_least, one_of, positive, whole


@register(task="reconstruct")
def vae(image: ImageSpec, *, latent: int = 128, beta: float = 1.0, output: str = "sigmoid") -> nn.Module:
    """`beta` weighs the KL term; `output` is sigmoid for pixels in [0, 1] or tanh for [-1, 1]."""
    whole("vae", "latent", latent)
    positive("vae", "beta", beta)
    one_of("vae", "output", output, ("sigmoid", "tanh"))
    at_least("vae", image, 8)
    return Autoencoder(image, latent, output, beta)

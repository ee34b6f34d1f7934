"""CVAE with a linear classifier on the encoder's features. notes/cvae-head: 2,692,429 parameters, over 82 %."""

from torch import nn

from replab.data.images import ImageSpec
from replab.models.parts.autoencoder import Autoencoder
from replab.models.registry import register
from replab.models.rules import at_least, classes, one_of, positive, switch, whole


@register(task="reconstruct")
def cvae_head(
    image: ImageSpec,
    *,
    latent: int = 128,
    beta: float = 1.0,
    gamma: float = 50.0,
    output: str = "sigmoid",
    decoder: bool = True,
) -> nn.Module:
    """`gamma` weighs the head's cross-entropy. Controls: gamma=0, and decoder=false, cross-entropy alone."""
    whole("cvae-head", "latent", latent)
    positive("cvae-head", "beta", beta)
    positive("cvae-head", "gamma", gamma, zero=True)
    one_of("cvae-head", "output", output, ("sigmoid", "tanh"))
    at_least("cvae-head", image, 8)
    switch("cvae-head", "decoder", decoder)
    labels = classes("cvae-head", image)
    return Autoencoder(image, latent, output, beta, labels=labels, head=True, gamma=gamma, reconstructs=decoder)

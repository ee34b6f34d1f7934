"""AC-GAN: the DC-GAN whose critic also predicts the class, which the generator is given (1610.09585). notes/acgan."""

from torch import nn

from replab.data.images import ImageSpec
from replab.models.parts.adversaries import Adversaries
from replab.models.registry import register
from replab.models.rules import at_least, classes, switch, whole


@register(task="adversarial")
def acgan(
    image: ImageSpec,
    *,
    latent: int = 100,
    width: int = 64,
    class_on_real: bool = True,
    class_on_fake: bool = True,
    adversarial: bool = True,
) -> nn.Module:
    """Terms can be switched off one by one; adversarial=false trains the critic's class head alone: the control."""
    whole("acgan", "latent", latent)
    whole("acgan", "width", width)
    for name, value in (("class_on_real", class_on_real), ("class_on_fake", class_on_fake)):
        switch("acgan", name, value)
    switch("acgan", "adversarial", adversarial)
    at_least("acgan", image, 8, 32)
    labels = classes("acgan", image)
    terms = {"class_on_real": class_on_real, "class_on_fake": class_on_fake, "adversarial": adversarial}
    return Adversaries(image, latent, width, labels, terms)

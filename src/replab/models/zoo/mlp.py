"""MLP: 512-256, ReLU. On CIFAR-10 (notes/mlp): 1,707,274 parameters, 54.44 %."""

from itertools import pairwise

from torch import nn

from replab.data.images import ImageSpec
from replab.models.registry import register
from replab.models.rules import wholes


@register
def mlp(image: ImageSpec, *, widths: tuple[int, ...] = (512, 256)) -> nn.Module:
    widths = wholes("mlp", "widths", widths, empty=True)  # none: a linear classifier
    sizes = (image.channels * image.height * image.width, *widths)
    layers: list[nn.Module] = [nn.Flatten()]
    for fan_in, fan_out in pairwise(sizes):
        layers += [nn.Linear(fan_in, fan_out), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], image.classes))

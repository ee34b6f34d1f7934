"""Fully connected 128-64, ReLU. On MNIST, in NumPy (numpy-lab/fcn): 109,386 parameters, about 95 %."""

from torch import nn

from replab.data.images import ImageSpec
from replab.models.parts.init import STARTS, initialise
from replab.models.registry import register
from replab.models.rules import one_of


@register
def fcn(image: ImageSpec, *, init: str = "torch") -> nn.Module:
    """`init="numpy-lab"` starts the weights as published."""
    one_of("fcn", "init", init, STARTS)
    network = nn.Sequential(
        nn.Flatten(),
        nn.Linear(image.channels * image.height * image.width, 128),
        nn.ReLU(),
        nn.Linear(128, 64),
        nn.ReLU(),
        nn.Linear(64, image.classes),
    )
    return initialise(network, init)

"""LeNet-5 (LeCun 1998), BN and ReLU. On MNIST, in NumPy (numpy-lab/lenet): 61,750 parameters, 99.26 %."""

from torch import nn

from replab.data.images import ImageSpec
from replab.models.parts.init import STARTS, initialise
from replab.models.registry import register
from replab.models.rules import at_least, one_of, switch


@register
def lenet(image: ImageSpec, *, batch_norm: bool = True, init: str = "torch") -> nn.Module:
    """`init="numpy-lab"` starts the weights as published."""
    one_of("lenet", "init", init, STARTS)
    switch("lenet", "batch_norm", batch_norm)
    at_least("lenet", image, 12, resize=28)
    rows, columns = ((side // 2 - 4) // 2 for side in (image.height, image.width))
    network = nn.Sequential(
        nn.Conv2d(image.channels, 6, 5, padding=2),
        *([nn.BatchNorm2d(6)] if batch_norm else []),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Conv2d(6, 16, 5),
        *([nn.BatchNorm2d(16)] if batch_norm else []),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * rows * columns, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, image.classes),
    )
    return initialise(network, init)

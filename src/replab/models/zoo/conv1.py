"""One 5x5 convolution and a linear layer. On MNIST (mnist-lab/conv1): 3,870 parameters, 98.45 %."""

from torch import nn

from replab.data.images import ImageSpec
from replab.models.registry import register
from replab.models.rules import at_least


@register
def conv1(image: ImageSpec) -> nn.Module:
    at_least("conv1", image, 8)
    rows, columns = (image.height - 4) // 4, (image.width - 4) // 4
    return nn.Sequential(
        nn.Conv2d(image.channels, 10, 5),
        nn.MaxPool2d(4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(10 * rows * columns, image.classes),
    )

"""CNN: three conv-BN-ReLU of 64, one pooling. On CIFAR-10 (lab9/cnn64): 1,125,258 parameters."""

from torch import nn

from replab.data.images import ImageSpec
from replab.models.parts.blocks import conv_bn_relu
from replab.models.registry import register
from replab.models.rules import at_least


@register
def cnn64(image: ImageSpec) -> nn.Module:
    at_least("cnn64", image, 2)
    return nn.Sequential(
        *conv_bn_relu(image.channels, 64, bias=False),  # as published, only the first has no bias
        *conv_bn_relu(64, 64),
        *conv_bn_relu(64, 64),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * (image.height // 2) * (image.width // 2), 64),
        nn.ReLU(),
        nn.Linear(64, image.classes),
    )

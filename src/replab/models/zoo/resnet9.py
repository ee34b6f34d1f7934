"""ResNet-9: four conv blocks, two residual. On CIFAR-10 (lab9/resnet9): 6,637,194 parameters."""

from torch import nn

from replab.data.images import ImageSpec
from replab.models.parts.blocks import Residual, conv_bn_relu
from replab.models.registry import register
from replab.models.rules import at_least


@register
def resnet9(image: ImageSpec) -> nn.Module:
    at_least("resnet9", image, 8)
    rows, columns = image.height // 8, image.width // 8  # after three poolings
    # The published 4x4 leaves 1x1 of a 32x32 image; smaller images have less to pool.
    last = (min(4, rows), min(4, columns))
    return nn.Sequential(
        *conv_bn_relu(image.channels, 64),
        *conv_bn_relu(64, 128, pool=2),
        Residual(*conv_bn_relu(128, 128), *conv_bn_relu(128, 128)),
        *conv_bn_relu(128, 256, pool=2),
        *conv_bn_relu(256, 512, pool=2),
        Residual(*conv_bn_relu(512, 512), *conv_bn_relu(512, 512)),
        nn.MaxPool2d(last),
        nn.Flatten(),
        nn.Linear(512 * (rows // last[0]) * (columns // last[1]), 128),  # as published, nothing between
        nn.Linear(128, image.classes),
    )

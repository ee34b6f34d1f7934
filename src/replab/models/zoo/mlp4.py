"""MLP: 512-256-128, dropout before the last layer. On CIFAR-10 (lab9/mlp4): 1,738,890 parameters."""

from torch import nn

from replab.data.images import ImageSpec
from replab.models.registry import register
from replab.models.rules import fraction


@register
def mlp4(image: ImageSpec, *, dropout: float = 0.25) -> nn.Module:
    fraction("mlp4", "dropout", dropout)
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(image.channels * image.height * image.width, 512),
        nn.ReLU(),
        nn.Linear(512, 256),
        nn.ReLU(),
        nn.Linear(256, 128),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(128, image.classes),
    )

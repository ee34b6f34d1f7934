"""torchvision.models: the classic image classifiers, untrained. Weights are loaded from files, never downloaded."""

from typing import Any

from mytorch.absent import Absent
from mytorch.dtypes import unsupported

from .alexnet import AlexNet, alexnet
from .mobilenet import MobileNetV2, mobilenet_v2
from .resnet import (
    ResNet,
    resnet18,
    resnet34,
    resnet50,
    resnet101,
    resnet152,
    resnext50_32x4d,
    wide_resnet50_2,
)
from .squeezenet import SqueezeNet, squeezenet1_0, squeezenet1_1
from .vgg import VGG, vgg11, vgg11_bn, vgg13, vgg13_bn, vgg16, vgg16_bn, vgg19, vgg19_bn

__all__ = [
    "VGG",
    "AlexNet",
    "MobileNetV2",
    "ResNet",
    "SqueezeNet",
    "alexnet",
    "mobilenet_v2",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "resnet152",
    "resnext50_32x4d",
    "squeezenet1_0",
    "squeezenet1_1",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
    "wide_resnet50_2",
]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name.endswith("_Weights"):  # can be named; a builder that is given one refuses it
        return Absent(f"torchvision.models.{name}")
    raise unsupported(f"torchvision.models.{name}")

"""SqueezeNet (Iandola et al., arXiv:1602.07360) with torchvision's parameter names."""

from __future__ import annotations

from typing import Any

import mytorch
from mytorch import nn
from mytorch.tensor import Tensor

from .weights import refuse_weights


class Fire(nn.Module):
    """1×1 squeeze, then 1×1 and 3×3 side by side."""

    def __init__(self, inplanes: int, squeeze_planes: int, expand1x1_planes: int, expand3x3_planes: int):
        super().__init__()
        self.inplanes = inplanes
        self.squeeze = nn.Conv2d(inplanes, squeeze_planes, kernel_size=1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand1x1_planes, kernel_size=1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, kernel_size=3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.squeeze_activation(self.squeeze(x))
        wide = self.expand1x1_activation(self.expand1x1(x)), self.expand3x3_activation(self.expand3x3(x))
        return mytorch.cat(wide, 1)


# (in, squeeze, expand, expand) of each fire module; None is a max pooling
_FIRES = {
    "1_0": [(96, 16, 64), (128, 16, 64), (128, 32, 128), None, (256, 32, 128), (256, 48, 192), (384, 48, 192),
            (384, 64, 256), None, (512, 64, 256)],
    "1_1": [(64, 16, 64), (128, 16, 64), None, (128, 32, 128), (256, 32, 128), None, (256, 48, 192), (384, 48, 192),
            (384, 64, 256), (512, 64, 256)],
}  # fmt: skip


class SqueezeNet(nn.Module):
    def __init__(self, version: str = "1_0", num_classes: int = 1000, dropout: float = 0.5):
        super().__init__()
        self.num_classes = num_classes
        first = nn.Conv2d(3, 96, 7, stride=2) if version == "1_0" else nn.Conv2d(3, 64, 3, stride=2)
        layers: list[nn.Module] = [first, nn.ReLU(inplace=True), nn.MaxPool2d(3, stride=2, ceil_mode=True)]
        for sizes in _FIRES[version]:
            pool = nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True)
            layers.append(pool if sizes is None else Fire(*sizes, sizes[2]))
        self.features = nn.Sequential(*layers)
        last = nn.Conv2d(512, num_classes, kernel_size=1)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout), last, nn.ReLU(True), nn.AdaptiveAvgPool2d((1, 1)))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                if module is last:
                    nn.init.normal_(module.weight, mean=0.0, std=0.01)
                else:
                    nn.init.kaiming_uniform_(module.weight)
                nn.init.constant_(module.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x)).flatten(1)


def squeezenet1_0(weights: Any = None, *, pretrained: Any = False, progress: bool = True, **more: Any) -> SqueezeNet:
    refuse_weights(weights, pretrained)
    return SqueezeNet("1_0", **more)


def squeezenet1_1(weights: Any = None, *, pretrained: Any = False, progress: bool = True, **more: Any) -> SqueezeNet:
    refuse_weights(weights, pretrained)
    return SqueezeNet("1_1", **more)

"""MobileNetV2 (Sandler et al., arXiv:1801.04381) with torchvision's parameter names."""

from __future__ import annotations

from typing import Any

from mytorch import nn
from mytorch.tensor import Tensor

from .weights import refuse_weights


class Conv2dNormActivation(nn.Sequential):
    def __init__(self, inside: int, outside: int, kernel: int = 3, stride: int = 1, groups: int = 1):
        conv = nn.Conv2d(inside, outside, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False)
        super().__init__(conv, nn.BatchNorm2d(outside), nn.ReLU6(inplace=True))


class InvertedResidual(nn.Module):
    """Widen by 1×1, filter every channel by itself, narrow by 1×1; the input is added where sizes agree."""

    def __init__(self, inp: int, oup: int, stride: int, expand_ratio: int):
        super().__init__()
        hidden = round(inp * expand_ratio)
        self.use_res_connect = stride == 1 and inp == oup
        layers: list[nn.Module] = [] if expand_ratio == 1 else [Conv2dNormActivation(inp, hidden, kernel=1)]
        layers.append(Conv2dNormActivation(hidden, hidden, stride=stride, groups=hidden))
        layers += [nn.Conv2d(hidden, oup, 1, 1, 0, bias=False), nn.BatchNorm2d(oup)]
        self.conv = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


# expansion, channels, repetitions, first stride
_SETTINGS = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def _divisible(value: float, by: int = 8) -> int:
    """The nearest multiple, but not less than nine tenths of the value."""
    near = max(by, int(value + by / 2) // by * by)
    return near + by if near < 0.9 * value else near


class MobileNetV2(nn.Module):
    def __init__(self, num_classes: int = 1000, width_mult: float = 1.0, dropout: float = 0.2):
        super().__init__()
        channels = _divisible(32 * width_mult)
        last = _divisible(1280 * max(1.0, width_mult))
        layers: list[nn.Module] = [Conv2dNormActivation(3, channels, stride=2)]
        for expand, width, count, stride in _SETTINGS:
            for number in range(count):
                wide = _divisible(width * width_mult)
                layers.append(InvertedResidual(channels, wide, stride if number == 0 else 1, expand))
                channels = wide
        layers.append(Conv2dNormActivation(channels, last, kernel=1))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout), nn.Linear(last, num_classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(x.flatten(1))


def mobilenet_v2(weights: Any = None, *, pretrained: Any = False, progress: bool = True, **more: Any) -> MobileNetV2:
    refuse_weights(weights, pretrained)
    return MobileNetV2(**more)

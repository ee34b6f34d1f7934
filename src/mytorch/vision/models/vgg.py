"""VGG (Simonyan and Zisserman, arXiv:1409.1556) with torchvision's parameter names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mytorch import nn
from mytorch.tensor import Tensor

from .weights import refuse_weights

# layers → the width of each convolution; "M" is a max pooling
CONFIGURATIONS: dict[int, list[int | str]] = {
    11: [64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"],
    13: [64, 64, "M", 128, 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"],
    16: [64, 64, "M", 128, 128, "M", *[256] * 3, "M", *[512] * 3, "M", *[512] * 3, "M"],
    19: [64, 64, "M", 128, 128, "M", *[256] * 4, "M", *[512] * 4, "M", *[512] * 4, "M"],
}


class VGG(nn.Module):
    def __init__(
        self, features: nn.Module, num_classes: int = 1000, init_weights: bool = True, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, num_classes),
        )
        if init_weights:
            for module in self.modules():
                if isinstance(module, nn.Conv2d):
                    nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                    if module.bias is not None:
                        nn.init.constant_(module.bias, 0)
                elif isinstance(module, nn.Linear):
                    nn.init.normal_(module.weight, 0, 0.01)
                    nn.init.constant_(module.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def make_layers(configuration: Sequence[int | str], batch_norm: bool = False) -> nn.Sequential:
    layers: list[nn.Module] = []
    channels = 3
    for width in configuration:
        if isinstance(width, str):
            layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
            continue
        layers.append(nn.Conv2d(channels, width, kernel_size=3, padding=1))
        layers += [nn.BatchNorm2d(width)] * batch_norm
        layers.append(nn.ReLU(inplace=True))
        channels = width
    return nn.Sequential(*layers)


def _builder(depth: int, batch_norm: bool) -> Any:
    def build(weights: Any = None, *, pretrained: Any = False, progress: bool = True, **settings: Any) -> VGG:
        refuse_weights(weights, pretrained)
        return VGG(make_layers(CONFIGURATIONS[depth], batch_norm), **settings)

    build.__name__ = build.__qualname__ = f"vgg{depth}{'_bn' * batch_norm}"
    return build


vgg11, vgg13, vgg16, vgg19 = (_builder(depth, False) for depth in CONFIGURATIONS)
vgg11_bn, vgg13_bn, vgg16_bn, vgg19_bn = (_builder(depth, True) for depth in CONFIGURATIONS)

"""ResNet-18 (1512.03385), 3x3 stem. On CIFAR-10 (notes/resnet18): 11,173,962 parameters, 83.46 %.

Written out with torchvision's names, so that its ImageNet weights load: all but the stem and the head.
There is no max-pool.
"""

from torch import nn

from replab.data.images import ImageSpec
from replab.models.parts.blocks import BasicBlock, shortcut
from replab.models.registry import register


class ResNet18(nn.Module):
    def __init__(self, image: ImageSpec):
        super().__init__()
        self.conv1 = nn.Conv2d(image.channels, 64, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU()
        self.layer1 = nn.Sequential(BasicBlock(64, 64), BasicBlock(64, 64))
        self.layer2 = _stage(64, 128)
        self.layer3 = _stage(128, 256)
        self.layer4 = _stage(256, 512)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(512, image.classes)
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            for module in stage.modules():  # torchvision's start; the replaced stem and head keep torch's
                if isinstance(module, nn.Conv2d):
                    nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))  # (B, 512, H/8, W/8)
        return self.fc(self.avgpool(x).flatten(1))


def _stage(fan_in: int, fan_out: int) -> nn.Module:
    return nn.Sequential(BasicBlock(fan_in, fan_out, 2, shortcut(fan_in, fan_out, 2)), BasicBlock(fan_out, fan_out))


@register
def resnet18(image: ImageSpec) -> nn.Module:
    return ResNet18(image)

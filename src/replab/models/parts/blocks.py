"""Pieces that several networks share: convolution-BN-ReLU and the residual blocks (He et al., 1512.03385)."""

from torch import nn
from torch.nn import functional


def conv_bn_relu(
    fan_in: int, fan_out: int, *, kernel: int = 3, bias: bool = True, batch_norm: bool = True, pool: int = 1
) -> list[nn.Module]:
    """The layers, at unchanged height and width (odd kernels), then max-pooled if `pool` is above 1.

    The pool stands before the ReLU, which is the same function and gradient (the largest of clipped values is the
    clipped largest one) on a quarter of the values.
    """
    layers: list[nn.Module] = [nn.Conv2d(fan_in, fan_out, kernel, padding=kernel // 2, bias=bias)]
    if batch_norm:
        layers.append(nn.BatchNorm2d(fan_out))
    if pool > 1:
        layers.append(nn.MaxPool2d(pool))
    return [*layers, nn.ReLU()]


def shortcut(fan_in: int, fan_out: int, stride: int, *, kernel: int = 1, bias: bool = False) -> nn.Module:
    """The skip path where the residual block changes the shape."""
    conv = nn.Conv2d(fan_in, fan_out, kernel, stride=stride, padding=kernel // 2, bias=bias)
    return nn.Sequential(conv, nn.BatchNorm2d(fan_out))


class BasicBlock(nn.Module):
    """Two 3x3 convolutions beside a skip path. The names are torchvision's, so that its weights load."""

    def __init__(self, fan_in: int, fan_out: int, stride: int = 1, downsample: nn.Module | None = None):
        super().__init__()
        self.conv1 = nn.Conv2d(fan_in, fan_out, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(fan_out)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2d(fan_out, fan_out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(fan_out)
        self.downsample = downsample

    def forward(self, x):
        skip = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(out)) + skip)


class Residual(nn.Module):
    """x + layers(x), for layers that keep the shape."""

    def __init__(self, *layers: nn.Module):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.layers(x)


class ToPixels(nn.ConvTranspose2d):
    """The last layer of a decoder: twice the size, logits of pixels, started small.

    Each logit sums 2x2 taps of all inputs, but torch takes a transposed convolution's fan-in from its *outputs*: with
    one channel the logits start four times too wide. Under sigmoid and squared error a phase of the lattice that starts
    far out saturates, has no gradient, and stays a white dot every few pixels.
    """

    def __init__(self, fan_in: int, channels: int):
        super().__init__(fan_in, channels, 4, stride=2, padding=1)
        bound = (4 * fan_in) ** -0.5
        nn.init.uniform_(self.weight, -bound, bound)
        assert self.bias is not None
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, x, output_size=None):
        """A product, and the sum of its overlapping pieces of 4x4: with few channels faster than torch's kernel."""
        height, width = x.shape[2:]
        pieces = x.permute(0, 2, 3, 1).flatten(1, 2) @ self.weight.flatten(1)  # (B, height * width, channels * 16)
        summed = functional.fold(pieces.transpose(1, 2), (2 * height, 2 * width), 4, padding=1, stride=2)
        return summed + self.bias.view(-1, 1, 1)

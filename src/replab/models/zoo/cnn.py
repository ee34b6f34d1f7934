"""CNN: 3 blocks conv-BN-ReLU-maxpool, then 512. On CIFAR-10 (notes/cnn): 1,147,914 parameters, 75.85 %."""

from torch import nn

from replab.data.images import ImageSpec
from replab.errors import ModelError
from replab.models.parts.blocks import conv_bn_relu
from replab.models.registry import register
from replab.models.rules import at_least, fraction, switch, whole, wholes


@register
def cnn(
    image: ImageSpec,
    *,
    channels: tuple[int, ...] = (32, 64, 128),
    kernel_sizes: tuple[int, ...] = (3,),
    hidden: int = 512,
    dropout: float = 0.5,
    batch_norm: bool = True,
) -> nn.Module:
    """One block per entry of `channels`; one kernel size for all blocks, or one for each."""
    channels = wholes("cnn", "channels", channels)
    kernels = wholes("cnn", "kernel_sizes", kernel_sizes)
    kernels = kernels * len(channels) if len(kernels) == 1 else kernels
    if len(kernels) != len(channels) or any(kernel % 2 == 0 for kernel in kernels):
        raise ModelError(
            f"cnn needs one odd kernel size, or one for each of its {len(channels)} channels,"
            f" got {list(kernel_sizes)}; for example --set kernel_sizes=[3]"
        )
    whole("cnn", "hidden", hidden)
    fraction("cnn", "dropout", dropout)
    switch("cnn", "batch_norm", batch_norm)
    shrink = 2 ** len(channels)  # each block halves height and width
    at_least("cnn", image, shrink)

    layers: list[nn.Module] = []
    fan_in = image.channels
    for fan_out, kernel in zip(channels, kernels):
        layers += conv_bn_relu(fan_in, fan_out, kernel=kernel, batch_norm=batch_norm, pool=2)
        fan_in = fan_out
    features = channels[-1] * (image.height // shrink) * (image.width // shrink)
    head = [nn.Flatten(), nn.Linear(features, hidden), nn.ReLU(), nn.Dropout(dropout)]
    return nn.Sequential(*layers, *head, nn.Linear(hidden, image.classes))

"""How numpy-lab started its weights: linear 0.01·N(0,1), convolutions He's normal; biases are zero."""

from torch import nn

STARTS = ("torch", "numpy-lab")


def initialise(network: nn.Module, init: str) -> nn.Module:
    """`torch` leaves the layers as their constructors made them."""
    if init == "numpy-lab":
        for module in network.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0.0, 0.01)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)  # std = sqrt(2 / fan-in)
                nn.init.zeros_(module.bias)
    return network

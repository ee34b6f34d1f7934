"""BatchNorm folded into convolutions: the same function to rounding, and nothing that stands elsewhere is touched."""

import pytest
import torch
from torch import nn

from replab.backends import backend
from replab.data.images import ImageSpec
from replab.models import loader
from replab.models.adapt.folding import folded


def norms(model):
    return sum(isinstance(module, nn.BatchNorm2d) for module in model.modules())


def with_statistics(model):
    """Running means and variances as after some training."""
    torch.manual_seed(0)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(std=0.3)
            module.running_var.uniform_(0.5, 2)
    return model.eval()


@pytest.mark.parametrize(("name", "left"), [("cnn", 0), ("resnet8", 6), ("mlp", 0)])
@torch.no_grad()
def test_the_same_function(name, left):
    torch_backend = backend.get("torch")
    model = loader.build(loader.find(name, torch_backend), ImageSpec(3, 16, 16, 10), {}, torch_backend)
    before = with_statistics(model).state_dict()
    x = torch.rand(5, 3, 16, 16)
    assert norms(folded(model)) == left  # those of residual blocks are called by name
    torch.testing.assert_close(folded(model)(x).softmax(1), model(x).softmax(1), rtol=0, atol=1e-6)
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


@torch.no_grad()
def test_a_layer_that_is_used_twice_stays():
    conv, norm = nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3)
    model = with_statistics(nn.Sequential(conv, norm, nn.ReLU(), conv))
    assert norms(folded(model)) == 1
    torch.testing.assert_close(folded(model)(x := torch.rand(2, 3, 4, 4)), model(x))

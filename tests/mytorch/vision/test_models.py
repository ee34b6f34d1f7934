"""torchvision's small models: the same names and shapes of parameters, and the same numbers with the same weights."""

import numpy as np
import pytest
import torch

import mytorch
import replab.backends.torchvision_cpu  # noqa: F401  (torchvision can be imported after it on a machine without CUDA)
from mytorch.vision import models

import torchvision  # isort: skip

SMALL = ["resnet18", "squeezenet1_0", "squeezenet1_1", "mobilenet_v2"]


def shapes(model):
    return {name: tuple(value.shape) for name, value in model.state_dict().items()}


@pytest.mark.parametrize("name", ["resnext50_32x4d", "vgg11_bn", *SMALL])
def test_state_dicts_have_torchvisions_names_and_shapes(name):
    ours = getattr(models, name)(num_classes=10)
    with torch.device("meta"):  # shapes without values
        theirs = getattr(torchvision.models, name)(num_classes=10)
    assert shapes(ours) == shapes(theirs)


@pytest.mark.parametrize("name", SMALL)
def test_the_same_weights_give_the_same_numbers(name):
    torch.manual_seed(0)
    theirs = getattr(torchvision.models, name)(num_classes=7).eval()
    ours = getattr(models, name)(num_classes=7).eval()
    ours.load_state_dict(theirs.state_dict())
    x = np.random.default_rng(0).normal(size=(2, 3, 64, 64)).astype(np.float32)
    with torch.no_grad(), mytorch.no_grad():
        a, b = theirs(torch.from_numpy(x)).numpy(), ours(mytorch.from_numpy(x)).numpy()
    np.testing.assert_allclose(b, a, rtol=1e-3, atol=1e-4 * np.abs(a).max())


def test_pretrained_weights_are_refused_with_the_way_out():
    for settings in ({"pretrained": True}, {"weights": "DEFAULT"}, {"weights": models.ResNet18_Weights.DEFAULT}):
        with pytest.raises(NotImplementedError, match="load a state dict from a file"):
            models.resnet18(**settings)
    with pytest.raises(NotImplementedError, match=r"torchvision\.models\.swin_t"):
        models.swin_t()

"""The same model files on mytorch: printed alike, the same logits from the same weights, all gradients."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
import torch

import mytorch
from mytorch.compat import import_as_torch
from replab.data.images import ImageSpec
from replab.errors import ModelError
from replab.models.registry import MODELS

MNIST = ImageSpec(1, 28, 28, 10)
SMALL = ImageSpec(3, 16, 16, 10)
CASES = [
    ("fcn", MNIST, {"init": "numpy-lab"}),
    ("lenet", MNIST, {"init": "numpy-lab"}),
    ("mlp", SMALL, {}),
    ("cnn", SMALL, {}),
    ("resnet9", SMALL, {}),
    ("nanovit", SMALL, {}),
    ("nanovit", SMALL, {"norm_first": True, "dropout": 0.0}),
]


def on_mytorch(module: str):
    return import_as_torch(find_spec(module).origin, "replab.models")


@pytest.mark.parametrize(("name", "image", "parameters"), CASES)
def test_one_file_two_libraries(name, image, parameters):
    torch.manual_seed(0)
    theirs = MODELS.get(name)(image, **parameters).eval()
    ours = MODELS.get(name, on_mytorch)(image, **parameters).eval()
    assert isinstance(ours, mytorch.nn.Module)
    assert repr(ours) == repr(theirs)

    ours.load_state_dict({key: mytorch.tensor(value.numpy()) for key, value in theirs.state_dict().items()})
    pixels = torch.randn(2, image.channels, image.height, image.width)
    with torch.no_grad():
        expected = theirs(pixels).numpy()
    logits = ours(mytorch.tensor(pixels.numpy()))
    np.testing.assert_allclose(logits.detach().numpy(), expected, atol=1e-5)

    logits.sum().backward()
    assert all(parameter.grad is not None for parameter in ours.parameters())


def test_refusals_are_the_same_errors():
    with pytest.raises(ModelError, match="lenet needs images of at least 12x12, got 8x8; --size 28 resizes"):
        MODELS.get("lenet", on_mytorch)(ImageSpec(1, 8, 8, 10))

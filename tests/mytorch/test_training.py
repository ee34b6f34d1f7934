"""Twenty training steps of replab's models from the same weights and batches: the losses agree with torch's.

resnet9 is replaced by a narrow net of its own blocks: at its published width the test would take half a minute.
"""

import importlib
import inspect
from importlib.util import find_spec

import numpy as np
import pytest
import torch

import mytorch
from mytorch.compat import import_as_torch
from replab.data.images import ImageSpec


def residual(blocks, nn, image):
    """resnet9's blocks, eight channels wide."""
    return nn.Sequential(
        *blocks.conv_bn_relu(image.channels, 8),
        nn.MaxPool2d(2),
        blocks.Residual(*blocks.conv_bn_relu(8, 8), *blocks.conv_bn_relu(8, 8)),
        *blocks.conv_bn_relu(8, 16),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(64, image.classes),
    )


MODELS = {
    "fcn": (ImageSpec(1, 28, 28, 10), {}),
    "lenet": (ImageSpec(1, 28, 28, 10), {}),
    "mlp": (ImageSpec(3, 8, 8, 10), {}),
    "cnn": (ImageSpec(3, 16, 16, 10), {"channels": (4, 8, 8)}),
    "nanovit": (ImageSpec(3, 8, 8, 10), {"width": 24, "depth": 2, "heads": 3, "ffn": 32}),
}


def losses(lib, model, batches):
    optimizer = lib.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, weight_decay=5e-4)
    found = []
    for images, labels in batches:
        optimizer.zero_grad()
        loss = lib.nn.functional.cross_entropy(model(lib.from_numpy(images)), lib.from_numpy(labels))
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def modules(name):
    """A module of replab.models on torch, and the same file on mytorch."""
    name = f"replab.models.{'parts' if name == 'blocks' else 'zoo'}.{name}"
    return importlib.import_module(name), import_as_torch(find_spec(name).origin, "replab.models")


def agree(build, rebuild, image):
    for dtype, tolerance in (("float64", 1e-6), ("float32", 1e-3)):
        torch.manual_seed(0)
        theirs = build().to(getattr(torch, dtype))
        ours = rebuild().to(getattr(mytorch, dtype))
        ours.load_state_dict(theirs.state_dict())
        rng = np.random.default_rng(0)
        shape = (4, image.channels, image.height, image.width)
        batches = [(rng.normal(size=shape).astype(dtype), rng.integers(0, 10, 4)) for _ in range(20)]
        expected = losses(torch, theirs, batches)
        assert max(expected) - min(expected) > 1e-2  # it does train
        np.testing.assert_allclose(losses(mytorch, ours, batches), expected, rtol=tolerance)


@pytest.mark.parametrize("name", MODELS)
def test_twenty_steps(name):
    image, parameters = MODELS[name]
    builders = [getattr(module, name) for module in modules(name)]
    # Dropout off: each library draws its own.
    off = {key: 0.0 for key in inspect.signature(builders[0]).parameters if "dropout" in key}
    agree(*[lambda build=build: build(image, **parameters, **off) for build in builders], image)


def test_twenty_steps_of_residual_blocks():
    image = ImageSpec(3, 16, 16, 10)
    theirs, ours = modules("blocks")
    agree(lambda: residual(theirs, torch.nn, image), lambda: residual(ours, mytorch.nn, image), image)

"""What every registered model keeps: shape, published parameter count, gradients, repeatability, saving."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load, save

from replab.data.images import ImageSpec
from replab.errors import ModelError
from replab.models.registry import MODELS

CIFAR = ImageSpec(3, 32, 32, 10)
MNIST = ImageSpec(1, 28, 28, 10)
DIGITS = ImageSpec(1, 8, 8, 10)

# name: (the images it was published on, its parameters there)
PUBLISHED = {
    "airbench94": (CIFAR, 1_971_352),
    "cnn": (CIFAR, 1_147_914),
    "cnn64": (CIFAR, 1_125_258),
    "conv1": (MNIST, 3_870),
    "conv2": (MNIST, 50_826),
    "fcn": (MNIST, 109_386),
    "lenet": (MNIST, 61_750),
    "mlp": (CIFAR, 1_707_274),
    "mlp4": (CIFAR, 1_738_890),
    "nanovit": (CIFAR, 1_212_490),
    "patch-lstm": (CIFAR, 2_536_842),
    "resnet18": (CIFAR, 11_173_962),
    "resnet8": (MNIST, 98_346),
    "resnet9": (CIFAR, 6_637_194),
    "vit-mnist": (MNIST, 205_962),
}
# What each cannot take; everything else it must take.
REFUSED = {"airbench94": {8}, "conv2": {8}, "lenet": {8}, "vit-mnist": {8, 32, 64}}
# As published, patch-lstm reads the backward direction after its first step: nothing teaches it to go on.
UNTRAINED = {"patch-lstm": {"lstm.weight_hh_l1_reverse"}}
SPECS = [
    DIGITS,
    ImageSpec(3, 28, 28, 2),
    ImageSpec(1, 32, 32, 100),
    ImageSpec(3, 64, 64, 7),
    ImageSpec(3, 24, 48, 5),
]

CLASSIFIERS = [name for name in MODELS.names() if MODELS.get(name).__dict__["task"] == "classify"]
every_model = pytest.mark.parametrize("name", CLASSIFIERS)  # the others: test_generative.py


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def images(spec: ImageSpec, batch: int = 2) -> torch.Tensor:
    return torch.randn(batch, spec.channels, spec.height, spec.width)


def smallest(name: str) -> ImageSpec:
    """A size the model takes that is quick to run."""
    return MNIST if 8 in REFUSED.get(name, ()) else DIGITS


def test_each_model_is_in_the_table_with_a_described_file():
    assert set(CLASSIFIERS) == set(PUBLISHED)
    assert all(len(MODELS.describe(name)) > 20 for name in MODELS.names())


@every_model
def test_published_parameter_count(name):
    spec, count = PUBLISHED[name]
    model = MODELS.get(name)(spec)
    assert sum(parameter.numel() for parameter in model.parameters()) == count
    assert all(parameter.requires_grad for parameter in model.parameters())


@every_model
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_output_shape_or_a_refusal_that_names_the_size(name, spec):
    build = MODELS.get(name)
    refused = spec.height in REFUSED.get(name, ()) or (name == "vit-mnist" and spec.height == 24)
    if refused:
        with pytest.raises(ModelError, match=rf"^{name} needs .*{spec.height}x{spec.width}; --size \d+"):
            build(spec)
        return
    with torch.inference_mode():
        assert build(spec).eval()(images(spec, 1)).shape == (1, spec.classes)


@every_model
def test_every_parameter_gets_a_gradient(name):
    spec = smallest(name)
    model = MODELS.get(name)(spec).train()
    batch = images(spec, 4)
    loss = torch.nn.functional.cross_entropy(model(batch), torch.tensor([0, 1, 2, 3]))
    loss.backward()
    gradients = {key: parameter.grad for key, parameter in model.named_parameters()}
    assert not [key for key, gradient in gradients.items() if gradient is None]
    assert {key for key, gradient in gradients.items() if not gradient.any()} == UNTRAINED.get(name, set())
    assert all(gradient.isfinite().all() for gradient in gradients.values())


@every_model
def test_same_seed_same_model_and_eval_repeats_and_the_state_goes_through_a_file(name):
    spec = smallest(name)
    build = MODELS.get(name)
    torch.manual_seed(3407)
    model = build(spec)
    torch.manual_seed(3407)
    twin = build(spec)
    assert all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), twin.state_dict().values()))

    batch = images(spec)
    model.train()(batch)  # moves the running statistics, if there are any
    with torch.inference_mode():
        logits = model.eval()(batch)
        assert torch.equal(logits, model(batch))
        twin.load_state_dict(load(save(model.state_dict())))
        assert torch.equal(logits, twin.eval()(batch))


@every_model
def test_parameters_are_plain_keywords_with_defaults(name):
    """They are set from the command line and written to TOML."""
    image, *keywords = inspect.signature(MODELS.get(name), eval_str=True).parameters.values()
    assert image.annotation is ImageSpec
    for keyword in keywords:
        assert keyword.kind is keyword.KEYWORD_ONLY
        assert keyword.annotation in (bool, int, float, str, tuple[int, ...])
        kind = tuple if keyword.annotation == tuple[int, ...] else keyword.annotation
        assert type(keyword.default) is kind


def test_listing_and_describing_models_does_not_import_torch():
    listing = "import sys; from replab.models.registry import MODELS as r; [r.describe(n) for n in r.names()]"
    code = f"{listing}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

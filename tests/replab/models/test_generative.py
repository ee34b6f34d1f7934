"""What every registered generative model keeps: published parameter counts, shapes, seeded samples, saving."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from replab.data.images import ImageSpec
from replab.errors import ModelError
from replab.models.parts.blocks import ToPixels
from replab.models.registry import MODELS
from replab.tasks import samples

CIFAR = ImageSpec(3, 32, 32, 10)
PUBLISHED = {
    "vae": [(ImageSpec(3, 64, 64, 0), {"output": "tanh"}, 7_338_819), (CIFAR, {}, 2_607_939)],
    "cvae": [(CIFAR, {}, 2_651_459)],
    "cvae-head": [(CIFAR, {}, 2_692_429)],
}
NAMES = [name for name in MODELS.names() if MODELS.get(name).__dict__["task"] != "classify"]
SPECS = [ImageSpec(1, 8, 8, 10), ImageSpec(1, 28, 28, 3), ImageSpec(3, 64, 64, 2), ImageSpec(3, 24, 40, 5)]

every_model = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize(
    ("name", "spec", "params", "count"), [(name, *case) for name, cases in PUBLISHED.items() for case in cases]
)
def test_published_parameter_count(name, spec, params, count):
    assert sum(p.numel() for p in MODELS.get(name)(spec, **params).parameters()) == count


@every_model
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_samples_are_images_of_the_data_and_seeded(name, spec):
    model = MODELS.get(name)(spec).train()
    drawn = samples.draw(model, 3, seed=1)
    assert drawn.shape == (3, spec.channels, spec.height, spec.width)
    assert drawn.dtype == np.uint8
    assert model.training
    assert np.array_equal(drawn, samples.draw(model, 3, seed=1))
    assert not np.array_equal(drawn, samples.draw(model, 3, seed=2))


@every_model
def test_too_small_images_are_refused_by_size(name):
    with pytest.raises(ModelError, match=rf"^{name} needs images of at least 8x8, got 4x4; --size \d+"):
        MODELS.get(name)(ImageSpec(1, 4, 4, 10))


@every_model
def test_the_state_goes_through_a_file(name):
    spec = SPECS[0]
    model, twin = MODELS.get(name)(spec), MODELS.get(name)(spec)
    twin.load_state_dict(load(save(model.state_dict())))
    assert np.array_equal(samples.draw(model, 2, seed=0), samples.draw(twin, 2, seed=0))


@every_model
def test_parameters_are_plain_keywords_with_defaults(name):
    image, *keywords = inspect.signature(MODELS.get(name), eval_str=True).parameters.values()
    assert image.annotation is ImageSpec
    for keyword in keywords:
        assert keyword.kind is keyword.KEYWORD_ONLY
        assert keyword.annotation in (bool, int, float, str)
        assert type(keyword.default) is keyword.annotation


@pytest.mark.parametrize("channels", [1, 3])
def test_to_pixels_is_torchs_transposed_convolution(channels):
    ours = ToPixels(5, channels).double()
    theirs = torch.nn.ConvTranspose2d(5, channels, 4, stride=2, padding=1).double()
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(2, 5, 3, 4, dtype=torch.float64)
    sides = []
    for layer in (ours, theirs):
        seen = x.clone().requires_grad_()
        made = layer(seen)
        grads = torch.autograd.grad(
            (made * torch.arange(made.numel()).view_as(made)).sum(), [seen, *layer.parameters()]
        )
        sides.append([made, *grads])
    for a, b in zip(*sides):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("name", ["vae", "cvae"])
def test_fast_decode_is_decode_in_eval_mode(name):
    model = MODELS.get(name)(ImageSpec(1, 12, 12, 3), latent=4)
    for _ in range(3):  # BatchNorm has seen something
        model.decode(torch.randn(16, 4), torch.arange(16) % 3)
    model.eval()
    z, y = torch.randn(7, 4), torch.arange(7) % 3
    with torch.inference_mode():
        torch.testing.assert_close(model.fast_decode()(z, y), model.decode(z, y), rtol=1e-5, atol=1e-6)

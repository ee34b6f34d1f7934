"""The fused steps give what the layers give one after the other: outputs, gradients and statistics."""

import copy

import pytest
import torch
from torch import nn

from replab.models.adapt import fusing
from replab.models.adapt.folding import folded
from replab.models.adapt.fusing import fuse


def layers(conv=None, norm=None, pool=None, relu_first=False):
    pool, relu = pool or nn.MaxPool2d(2), nn.ReLU()
    last = [relu, pool] if relu_first else [pool, relu]
    return [conv or nn.Conv2d(3, 5, 3, padding=1), norm or nn.BatchNorm2d(5), *last]


CASES = {
    "as in cnn": layers,
    "the ReLU before the pool": lambda: layers(relu_first=True),
    "no bias, steps of two": lambda: layers(nn.Conv2d(3, 5, 5, stride=2, padding=2, bias=False)),
    "dilated": lambda: layers(nn.Conv2d(3, 5, 3, dilation=2)),
    "overlapping windows": lambda: layers(pool=nn.MaxPool2d(3, 2, padding=1)),
    "windows over the edge": lambda: layers(pool=nn.MaxPool2d(2, ceil_mode=True)),
    "other numbers of the norm": lambda: layers(norm=nn.BatchNorm2d(5, eps=0.1, momentum=0.4)),
    "two blocks": lambda: [*layers(), *layers(nn.Conv2d(5, 4, 3, groups=1), nn.BatchNorm2d(4))],
    "behind another layer": lambda: [nn.Conv2d(3, 3, 1), *layers(), nn.Flatten()],
}


def pair(make, size=(4, 3, 9, 11)):
    """The layers as they are, the same ones fused, and images for each: double precision, statistics of their own."""
    torch.manual_seed(0)
    plain = nn.Sequential(*make()).double().to(memory_format=torch.channels_last)
    for module in plain:
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.2, 2.0)
            nn.init.normal_(module.bias)
    fused = copy.deepcopy(plain)
    fuse(fused)
    x = torch.randn(size, dtype=torch.double).to(memory_format=torch.channels_last)
    return plain, fused, x.clone().requires_grad_(), x.clone().requires_grad_()


def agree(plain, fused):
    for (name, one), (_, two) in zip(plain.named_parameters(), fused.named_parameters(), strict=True):
        torch.testing.assert_close(one.grad, two.grad, rtol=1e-9, atol=1e-9, msg=name)
    for (name, one), (_, two) in zip(plain.named_buffers(), fused.named_buffers(), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-9, atol=1e-9, msg=name)


@pytest.fixture
def blocks(monkeypatch):
    """How many blocks were computed as one function."""
    made, real = [], fusing.block
    monkeypatch.setattr(fusing, "block", lambda *values: made.append(1) or real(*values))
    return made


@pytest.mark.parametrize("case", CASES)
def test_as_one_after_the_other(case, blocks):
    plain, fused, x, y = pair(CASES[case])
    for _ in range(2):
        one, two = plain(x), fused(y)
        torch.testing.assert_close(one, two, rtol=1e-9, atol=1e-9)
        (one * torch.arange(one.numel()).view_as(one).sin()).sum().backward()
        (two * torch.arange(two.numel()).view_as(two).sin()).sum().backward()
    torch.testing.assert_close(x.grad, y.grad, rtol=1e-9, atol=1e-9)
    agree(plain, fused)
    assert len(blocks) == (4 if case == "two blocks" else 2)


def test_gradients_of_gradients():
    plain, fused, x, y = pair(layers)
    for model, images in ((plain, x), (fused, y)):
        (slope,) = torch.autograd.grad(model(images).square().sum(), images, create_graph=True)
        slope.square().sum().backward()
    torch.testing.assert_close(x.grad, y.grad, rtol=1e-9, atol=1e-9)
    agree(plain, fused)


def test_frozen_weights_and_images_without_a_gradient():
    plain, fused, x, _ = pair(layers)
    for model in (plain, fused):
        model[0].requires_grad_(False)
        model(x.detach()).sum().backward()
    assert fused[0].weight.grad is None
    agree(plain, fused)


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model.eval(),
        lambda model: model[1].eval(),
        lambda model: model[2].register_forward_hook(lambda *_: None),
        lambda model: model[1].weight.data.neg_(),
        lambda model: model.bfloat16(),
    ],
    ids=["evaluation", "frozen norm", "hook", "negative weights", "another type"],
)
def test_one_after_the_other_where_it_would_differ(change, blocks):
    plain, fused, x, _ = pair(layers)
    change(plain)
    change(fused)
    x = x.detach().to(plain[0].weight.dtype)
    assert torch.equal(plain(x), fused(x))
    assert not blocks


def test_no_fusing_without_gradients(blocks):
    plain, fused, x, _ = pair(layers)
    with torch.no_grad():
        assert torch.equal(plain(x), fused(x))
    assert not blocks


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers(nn.Conv2d(3, 5, 3, padding="same")),
        lambda: layers(nn.Conv2d(3, 5, 3, padding=1, padding_mode="reflect")),
        lambda: layers(norm=nn.BatchNorm2d(5, affine=False)),
        lambda: layers(norm=nn.BatchNorm2d(5, momentum=None)),
        lambda: layers()[:3],
        lambda: [nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.ReLU(), nn.AvgPool2d(2)],
    ],
)
def test_other_layers_are_left_alone(make):
    model = nn.Sequential(*make())
    fuse(model)
    assert type(model) is nn.Sequential


def test_a_fused_model_can_be_copied_and_folded():
    _, fused, x, _ = pair(layers)
    fused.eval()
    again = copy.deepcopy(fused)
    assert type(again) is fusing.Sequential
    assert torch.equal(again(x), fused(x))
    small = folded(fused)
    assert type(small[1]) is nn.Identity
    torch.testing.assert_close(small(x), fused(x))

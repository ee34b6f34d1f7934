"""Parameters of the models: what they change, and what is refused by name before anything is built."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from replab.data.images import ImageSpec
from replab.errors import ModelError
from replab.models.registry import MODELS

CIFAR = ImageSpec(3, 32, 32, 10)
MNIST = ImageSpec(1, 28, 28, 10)
DIGITS = ImageSpec(1, 8, 8, 10)


def build(name: str, image: ImageSpec = DIGITS, **parameters) -> nn.Module:
    torch.manual_seed(0)
    return MODELS.get(name)(image, **parameters)


def count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("cnn", {"channels": []}, "cnn needs channels to be a list of at least one whole number, got []"),
        ("cnn", {"channels": [16, 0]}, "cnn needs channels to be whole numbers of at least 1, got [16, 0]"),
        ("cnn", {"channels": 16}, "cnn needs channels to be a list of at least one whole number, got 16"),
        (
            "cnn",
            {"kernel_sizes": [4]},
            "cnn needs one odd kernel size, or one for each of its 3",
        ),
        ("cnn", {"kernel_sizes": [3, 5]}, "or one for each of its 3 channels, got [3, 5]"),
        ("cnn", {"dropout": 1.0}, "cnn needs dropout to be at least 0 and below 1, got 1.0"),
        ("cnn", {"dropout": float("nan")}, "cnn needs dropout to be at least 0 and below 1, got nan"),
        ("cnn", {"batch_norm": "no"}, "cnn needs batch_norm to be true or false, got 'no'"),
        ("cnn", {"channels": [8] * 4}, "cnn needs images of at least 16x16, got 8x8; --size 16 resizes"),
        ("mlp", {"widths": [32, 1.5]}, "mlp needs widths to be whole numbers of at least 1, got [32, 1.5]"),
        ("mlp4", {"dropout": -0.1}, "mlp4 needs dropout to be at least 0 and below 1, got -0.1"),
        ("nanovit", {"heads": 5}, "needs heads to divide width, got 5 heads and width 192; --set heads=4"),
        ("nanovit", {"depth": 0}, "nanovit needs depth to be a whole number of at least 1, got 0"),
        (
            "nanovit",
            {"patch": 3},
            "needs a height and width that 3 divides, got 8x8; --size 6 resizes",
        ),
        ("nanovit", {"patch": True}, "nanovit needs patch to be a whole number of at least 1, got True"),
        ("patch-lstm", {"readout": "first"}, "needs readout to be one of last, mean, ends, got 'first'"),
        (
            "vit-mnist",
            {"patch": 4, "heads": 7},
            "needs heads to divide width, got 7 heads and width 64",
        ),
        ("conv2", {"activation": "tanh"}, "conv2 needs activation to be one of relu, leaky, got 'tanh'"),
        ("fcn", {"init": "zeros"}, "fcn needs init to be one of torch, numpy-lab, got 'zeros'"),
    ],
)
def test_impossible_parameters_are_refused(name, parameters, message):
    with pytest.raises(ModelError) as refusal:
        build(name, **parameters)
    assert message in str(refusal.value)
    assert "--s" in str(refusal.value)  # the way out: --set or --size
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "given"), [("mlp", {"widths": [32, 16]}), ("cnn", {"channels": [4, 8], "kernel_sizes": [3, 5]})]
)
def test_lists_are_as_good_as_tuples(name, given):
    tuples = {key: tuple(value) for key, value in given.items()}
    assert str(build(name, **given)) == str(build(name, **tuples))
    assert str(build(name, **given)) != str(build(name))


def test_published_variants():
    assert count(build("nanovit", CIFAR, patch=2)) == 1_242_442
    assert count(build("nanovit", CIFAR, patch=2, heads=3)) == 1_242_442
    assert count(build("lenet", MNIST, batch_norm=False)) == 61_750 - 2 * (6 + 16)
    assert count(build("cnn", CIFAR, batch_norm=False)) == 1_147_914 - 2 * (32 + 64 + 128)
    leaky = [module for module in build("conv2", MNIST, activation="leaky") if isinstance(module, nn.LeakyReLU)]
    assert [module.negative_slope for module in leaky] == [0.01] * 4


def test_nanovit_starts_from_zero_tokens_and_takes_both_norms():
    post, pre = build("nanovit"), build("nanovit", norm_first=True)
    assert not post.tokens.cls.any()
    assert not post.tokens.positions.any()
    assert post.encoder.layers[0].dropout.p == 0.1
    pre.load_state_dict(post.state_dict())  # the same weights, another order
    batch = torch.randn(2, 1, 8, 8)
    assert not torch.allclose(post.eval()(batch), pre.eval()(batch), atol=1e-3)


def test_patch_lstm_last_step_is_blind_backwards_and_ends_and_mean_are_not():
    """The backward half at the last step has seen the last patch only, as published."""
    batch = torch.randn(1, 1, 8, 8)
    other = batch.clone()
    other[..., :2, :2] += 1  # the first patch
    seen = {}
    for readout in ("last", "mean", "ends"):
        model = build("patch-lstm", readout=readout, depth=1, hidden=8, dropout=0.0).eval()
        states, _ = model.lstm(model.tokens(batch))
        changed, _ = model.lstm(model.tokens(other))
        difference = (model._read(changed) - model._read(states)).abs()[0]
        assert difference.shape == (16,)
        seen[readout] = difference[8:].max().item()  # the backward half
        model(batch).sum().backward()
        assert bool(model.lstm.weight_hh_l0_reverse.grad.any()) == (readout != "last")
    assert seen["last"] == 0
    assert seen["mean"] > 1e-4
    assert seen["ends"] > 1e-4


def test_vit_mnist_drops_the_mlp_output_twice():
    block = build("vit-mnist", MNIST, dropout=0.5).blocks[0].train()
    for parameter in block.parameters():
        nn.init.zeros_(parameter)
    nn.init.ones_(block.mlp[3].bias)  # the mlp's output is all ones before its dropouts
    output = block(torch.zeros(64, 17, 64))
    assert set(output.unique().tolist()) == {0.0, 4.0}  # 1 / 0.5 / 0.5: kept by both
    assert (output > 0).float().mean().item() == pytest.approx(0.25, abs=0.02)


def test_numpy_lab_start():
    published, default = build("lenet", MNIST, init="numpy-lab"), build("lenet", MNIST)
    linear = [module for module in published if isinstance(module, nn.Linear)]
    convolutions = [module for module in published if isinstance(module, nn.Conv2d)]
    assert linear[0].weight.std().item() == pytest.approx(0.01, rel=0.05)
    assert convolutions[1].weight.std().item() == pytest.approx((2 / 150) ** 0.5, rel=0.1)
    assert not any(module.bias.any() for module in linear + convolutions)
    assert default[9].weight.std().item() == pytest.approx(400**-0.5 / 3**0.5, rel=0.05)


def test_resnet18_is_torchvisions_with_another_stem():
    from replab.backends.torchvision_cpu import torchvision

    reference = torchvision.models.resnet18(num_classes=10)
    ours = build("resnet18", CIFAR)
    foreign = reference.state_dict()
    same = {key for key, value in ours.state_dict().items() if foreign[key].shape == value.shape}
    assert ours.state_dict().keys() == foreign.keys()
    assert foreign.keys() - same == {"conv1.weight"}

    reference.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
    reference.maxpool = nn.Identity()
    ours.load_state_dict(reference.state_dict())
    batch = torch.randn(2, 3, 16, 16)
    with torch.inference_mode():
        assert torch.allclose(ours.eval()(batch), reference.eval()(batch), atol=1e-6)
    assert ours.layer2[0].conv1.weight.std().item() == pytest.approx((2 / (128 * 9)) ** 0.5, rel=0.02)


def test_resnet8_shortcuts_are_3x3_with_bias_and_the_first_block_has_none():
    blocks = [module for module in build("resnet8", MNIST) if hasattr(module, "downsample")]
    assert blocks[0].downsample is None
    assert [tuple(block.downsample[0].kernel_size) for block in blocks[1:]] == [(3, 3), (3, 3)]
    assert [block.downsample[0].bias is not None for block in blocks[1:]] == [True, True]
    assert blocks[1].conv1.bias is None

"""nn.init: bounds and moments of torch's distributions; defaults of the layers."""

import math

import numpy as np
import pytest
import torch

import mytorch
from mytorch.nn import init

# name → (call, bound or None, std) for a (200, 100) tensor
DRAWS = {
    "uniform_": (lambda init, t: init.uniform_(t, -1, 3), (-1, 3), 4 / math.sqrt(12)),
    "normal_": (lambda init, t: init.normal_(t, 1.0, 2.0), None, 2.0),
    "trunc_normal_": (lambda init, t: init.trunc_normal_(t, 0.0, 1.0, -1.0, 2.0), (-1, 2), 0.72),
    "xavier_uniform_": (lambda init, t: init.xavier_uniform_(t, gain=2.0), None, 2 * math.sqrt(2 / 300)),
    "xavier_normal_": (lambda init, t: init.xavier_normal_(t), None, math.sqrt(2 / 300)),
    "kaiming_uniform_": (
        lambda init, t: init.kaiming_uniform_(t, nonlinearity="relu"),
        None,
        math.sqrt(2 / 100),
    ),
    "kaiming_normal_": (lambda init, t: init.kaiming_normal_(t, mode="fan_out"), None, math.sqrt(2 / 200)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_have_torchs_spread(name):
    call, bounds, std = DRAWS[name]
    mytorch.manual_seed(0)
    torch.manual_seed(0)
    ours, theirs = mytorch.empty(200, 100), torch.empty(200, 100)
    assert call(init, ours) is ours
    call(torch.nn.init, theirs)
    values = ours.numpy()
    assert values.std() == pytest.approx(std, rel=0.03)
    assert values.std() == pytest.approx(float(theirs.std()), rel=0.03)
    assert values.mean() == pytest.approx(float(theirs.mean()), abs=0.05)
    assert values.min() == pytest.approx(float(theirs.min()), rel=0.25)
    if bounds:
        assert bounds[0] <= values.min()
        assert values.max() <= bounds[1]


def test_fixed_values_and_orthogonal():
    t = mytorch.nn.Parameter(mytorch.empty(3, 4))
    assert (init.constant_(t, 2.5).detach().numpy() == 2.5).all()
    assert (init.eye_(t).detach().numpy() == np.eye(3, 4)).all()
    assert (init.ones_(t).detach().numpy() == 1).all()
    for shape in ((3, 8), (8, 3), (4, 2, 2)):
        w = init.orthogonal_(mytorch.empty(*shape), gain=2.0).numpy().reshape(shape[0], -1)
        product = w @ w.T if shape[0] <= w.shape[1] else w.T @ w
        np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-5)
    with pytest.raises(ValueError, match="fewer than 2 dimensions"):
        init.xavier_uniform_(mytorch.empty(3))
    with pytest.raises(ValueError, match="fan_in"):
        init.kaiming_normal_(t, mode="both")


@pytest.mark.parametrize("name", ["linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"])
def test_gain(name):
    assert init.calculate_gain(name) == torch.nn.init.calculate_gain(name)
    with pytest.raises(ValueError, match="Unsupported nonlinearity"):
        init.calculate_gain("swish")


@pytest.mark.parametrize(
    "build",
    [
        lambda nn: nn.Linear(300, 200),
        lambda nn: nn.Conv2d(16, 40, 5),
        lambda nn: nn.ConvTranspose2d(16, 40, 5),
        lambda nn: nn.Embedding(200, 100),
        lambda nn: nn.MultiheadAttention(96, 4),
        lambda nn: nn.LSTM(60, 80),
        lambda nn: nn.BatchNorm2d(7),
        lambda nn: nn.LayerNorm(7),
    ],
)
def test_layers_start_as_torchs(build):
    """Each parameter's mean, spread and largest value are those of torch's start."""
    mytorch.manual_seed(0)
    torch.manual_seed(0)
    ours, theirs = build(mytorch.nn).state_dict(), build(torch.nn).state_dict()
    for name, value in theirs.items():
        a, b = ours[name].numpy().astype(float), value.numpy().astype(float)
        size = np.abs(b).max()
        if size == 0:
            assert not a.any()
            continue
        assert a.mean() / size == pytest.approx(b.mean() / size, abs=0.15)
        assert a.std() / size == pytest.approx(b.std() / size, abs=0.12)
        assert np.abs(a).max() / size == pytest.approx(1, abs=0.25)


def test_seeded_starts_repeat():
    def start():
        mytorch.manual_seed(3)
        return mytorch.nn.Linear(4, 4).weight.detach().numpy()

    np.testing.assert_array_equal(start(), start())

"""nn.utils.parametrizations beside torch's: names and values exchange through state dicts."""

import numpy as np
import pytest
import torch
from torch.nn.utils import parametrizations as theirs
from torch.nn.utils import parametrize as torch_parametrize

import mytorch
from mytorch.nn.utils import parametrizations as ours
from mytorch.nn.utils import parametrize

CASES = [
    ("weight_norm", {}, ("Linear", 4, 3)),
    ("weight_norm", {"dim": 1}, ("Conv2d", 4, 3, 2)),
    ("spectral_norm", {}, ("Linear", 4, 3)),
    ("spectral_norm", {"n_power_iterations": 3}, ("ConvTranspose2d", 4, 3, 2)),
    *(
        ("orthogonal", {"orthogonal_map": how, "use_trivialization": base}, ("Linear", *sizes))
        for how in (None, "matrix_exp", "cayley", "householder")
        for base in (True, False)
        for sizes in ((4, 4), (4, 3), (4, 6))
    ),
]


@pytest.mark.parametrize(("name", "settings", "layer"), CASES)
def test_state_dicts_exchange_with_torch(name, settings, layer):
    kind, *sizes = layer
    theirs_layer = getattr(theirs, name)(getattr(torch.nn, kind)(*sizes).double(), **settings)
    layer = getattr(ours, name)(getattr(mytorch.nn, kind)(*sizes).double(), **settings)
    state = theirs_layer.state_dict()
    assert {key: tuple(value.shape) for key, value in layer.state_dict().items()} == {
        key: tuple(value.shape) for key, value in state.items()
    }
    rng = np.random.default_rng(0)
    for key, value in state.items():  # away from the start, where reflections cancel; their signs stay ±1
        if "original" in key and settings.get("orthogonal_map", "") not in (None, "householder"):
            value.add_(torch.from_numpy(0.1 * rng.normal(size=value.shape)))
    layer.load_state_dict(state)
    x = rng.normal(size=(2, 4) if kind == "Linear" else (2, 4, 5, 5))
    for _ in range(2):
        a, b = layer(mytorch.from_numpy(x)), theirs_layer(torch.from_numpy(x))
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-8, atol=1e-10)
    a.square().sum().backward()
    b.square().sum().backward()
    for p, q in zip(layer.parameters(), theirs_layer.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-7, atol=1e-9)
    assert repr(layer) == repr(theirs_layer)
    parametrize.remove_parametrizations(layer.eval(), "weight")
    torch_parametrize.remove_parametrizations(theirs_layer.eval(), "weight")
    assert list(layer.state_dict()) == list(theirs_layer.state_dict())
    np.testing.assert_allclose(layer.weight.detach().numpy(), theirs_layer.weight.detach().numpy(), atol=1e-10)


@pytest.mark.parametrize("settings", [{}, {"orthogonal_map": "householder", "use_trivialization": False}])
@pytest.mark.parametrize("sizes", [(4, 4), (4, 3), (3, 4)])
def test_an_orthogonal_weight_can_be_assigned(sizes, settings):
    layer = ours.orthogonal(mytorch.nn.Linear(*sizes).double(), **settings)
    wanted = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0][: sizes[1], : sizes[0]]
    layer.weight = mytorch.from_numpy(wanted)
    np.testing.assert_allclose(layer.weight.detach().numpy(), wanted, atol=1e-10)


def test_weights_saved_by_the_older_weight_norm_are_read():
    older, layer = mytorch.nn.utils.weight_norm(mytorch.nn.Linear(3, 2)), ours.weight_norm(mytorch.nn.Linear(3, 2))
    layer.load_state_dict(older.state_dict())
    x = mytorch.ones(1, 3)
    np.testing.assert_allclose(layer(x).detach().numpy(), older(x).detach().numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "layer", "settings"),
    [
        ("orthogonal", ("BatchNorm1d", 3), {}),
        ("orthogonal", ("Linear", 3, 3), {"orthogonal_map": "other"}),
        ("spectral_norm", ("Linear", 3, 3), {"n_power_iterations": 0}),
    ],
)
def test_refusals_are_torchs(name, layer, settings):
    messages = []
    for lib, place in ((mytorch, ours), (torch, theirs)):
        with pytest.raises(ValueError, match=r"orthogonal|Expected") as error:
            getattr(place, name)(getattr(lib.nn, layer[0])(*layer[1:]), **settings)
        messages.append(str(error.value))
    assert messages[0] == messages[1]

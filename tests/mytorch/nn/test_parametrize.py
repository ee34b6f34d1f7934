"""nn.utils.parametrize beside torch's."""

import numpy as np
import pytest
import torch
import torch.nn.utils.parametrize as theirs

import mytorch
import mytorch.nn.utils.parametrize as ours

BOTH = [(mytorch, ours), (torch, theirs)]


def symmetric(lib):
    class Symmetric(lib.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, x):
            return x.triu()

    return Symmetric()


def doubled(lib):
    class Doubled(lib.nn.Module):
        def forward(self, x):
            return 2 * x

    return Doubled()


def layer_of(lib, start):
    layer = lib.nn.Linear(3, 3)
    with lib.no_grad():
        layer.weight.copy_(lib.tensor(start))
    return layer


def test_values_names_and_gradients():
    start = np.random.default_rng(0).normal(size=(3, 3)).astype(np.float32).tolist()
    found = []
    for lib, parametrize in BOTH:
        layer = layer_of(lib, start)
        parametrize.register_parametrization(layer, "weight", symmetric(lib))
        parametrize.register_parametrization(layer, "weight", doubled(lib))
        layer(lib.ones(2, 3)).sum().backward()
        original = layer.parametrizations.weight.original
        found.append((
            layer.weight.tolist(), original.grad.tolist(), [name for name, _ in layer.named_parameters()],
            sorted(layer.state_dict()), type(layer).__name__, parametrize.is_parametrized(layer, "weight"),
        ))  # fmt: skip
    assert found[0] == found[1]


def test_assigning_goes_through_the_inverse_and_removing_leaves_a_parameter():
    found = []
    for lib, parametrize in BOTH:
        layer = layer_of(lib, np.zeros((3, 3)).tolist())
        parametrize.register_parametrization(layer, "weight", symmetric(lib))
        layer.weight = lib.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]])
        before = layer.weight.tolist()
        parametrize.remove_parametrizations(layer, "weight")
        found.append((before, layer.weight.tolist(), type(layer).__name__, isinstance(layer.weight, lib.nn.Parameter)))
    assert found[0] == found[1]


def test_computed_once_inside_cached():
    for lib, parametrize in BOTH:
        calls = []

        class Counted(lib.nn.Module):
            def forward(self, x, calls=calls):
                calls.append(1)
                return x

        layer = lib.nn.Linear(2, 2)
        parametrize.register_parametrization(layer, "weight", Counted())
        calls.clear()
        with parametrize.cached():
            layer.weight, layer.weight  # noqa: B018
        assert len(calls) == 1
        with pytest.raises((RuntimeError, NotImplementedError)):
            layer.weight = lib.zeros(2, 2)

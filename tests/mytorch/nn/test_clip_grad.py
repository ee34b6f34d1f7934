"""Gradient clipping and parameters as a vector, beside torch's."""

import numpy as np
import pytest
import torch

import mytorch


def leaves(lib, scale):
    rng = np.random.default_rng(0)
    found = []
    for shape in ((3, 4), (5,), ()):
        leaf = lib.from_numpy(np.asarray(rng.normal(size=shape))).requires_grad_()
        leaf.grad = lib.from_numpy(np.asarray(rng.normal(size=shape) * scale))
        found.append(leaf)
    return [*found, lib.ones(2, requires_grad=True)]  # the last one has no gradient


@pytest.mark.parametrize("scale", [0.01, 10.0])
@pytest.mark.parametrize("norm", [1.0, 2.0, 3.0, float("inf")])
def test_norm(scale, norm):
    ours, theirs = leaves(mytorch, scale), leaves(torch, scale)
    a = mytorch.nn.utils.clip_grad_norm_(ours, 1.0, norm)
    b = torch.nn.utils.clip_grad_norm_(theirs, 1.0, norm)
    assert a.item() == pytest.approx(b.item(), rel=1e-12)
    for mine, other in zip(ours[:3], theirs[:3]):
        np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-12)


def test_norm_of_one_tensor_of_none_and_of_nan():
    clip = mytorch.nn.utils.clip_grad_norm_
    one = leaves(mytorch, 1.0)[0]
    assert clip(one, 0.5).item() > 0.5
    assert float(one.grad.norm()) == pytest.approx(0.5, rel=1e-5)
    assert clip([mytorch.ones(2, requires_grad=True)], 1.0).item() == 0
    one.grad[0, 0] = float("nan")
    with pytest.raises(RuntimeError, match="non-finite"):
        clip(one, 1.0, error_if_nonfinite=True)
    clip(one, 1.0)
    assert np.isnan(one.grad.numpy()).all()


def test_value_and_total_norm():
    ours, theirs = leaves(mytorch, 1.0), leaves(torch, 1.0)
    grads = [[leaf.grad for leaf in each[:3]] for each in (ours, theirs)]
    a, b = mytorch.nn.utils.get_total_norm(grads[0]), torch.nn.utils.get_total_norm(grads[1])
    assert a.item() == pytest.approx(b.item())
    mytorch.nn.utils.clip_grad_value_(ours, 0.3)
    torch.nn.utils.clip_grad_value_(theirs, 0.3)
    for mine, other in zip(ours[:3], theirs[:3]):
        np.testing.assert_array_equal(mine.grad.numpy(), other.grad.numpy())


def test_vector_and_back():
    model = mytorch.nn.Linear(3, 2)
    vector = mytorch.nn.utils.parameters_to_vector(model.parameters())
    assert vector.shape == (8,)
    mytorch.nn.utils.vector_to_parameters(mytorch.arange(8.0), model.parameters())
    assert model.bias.tolist() == [6.0, 7.0]
    assert model.weight.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]

"""Muon, Nesterov and the rates of groups, against torch's own optimizers and worked examples."""

import pytest
import torch
from torch import nn

from replab.errors import RecipeError
from replab.models.adapt.rates import groups
from replab.settings.recipe import Recipe
from replab.training.loop import set_rate
from replab.training.optimizers.muon import Orthogonal, orthogonal
from replab.training.prepare import prepare


def stepped(optimizer, weights, steps=6):
    """Gradients of their own, the same for both sides."""
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        for weight in weights:
            weight.grad = torch.randn(weight.shape, generator=generator)
        optimizer.step()
    return [weight.detach().clone() for weight in weights]


def parameters(*shapes):
    generator = torch.Generator().manual_seed(0)
    return [nn.Parameter(torch.randn(shape, generator=generator)) for shape in shapes]


@pytest.mark.parametrize("shape", [(6, 10), (10, 6)])
def test_muon_is_torchs_on_matrices(shape):
    ours, theirs = parameters(shape), parameters(shape)
    how = {"lr": 0.02, "weight_decay": 0.1, "momentum": 0.9}
    found = stepped(Orthogonal(ours, steps=5, sphere=False, **how), ours)
    wanted = stepped(torch.optim.Muon(theirs, nesterov=True, ns_steps=5, **how), theirs)
    # torch iterates in bfloat16, ours in float32
    assert torch.nn.functional.cosine_similarity(found[0].flatten(), wanted[0].flatten(), dim=0) > 0.9999
    torch.testing.assert_close(found[0], wanted[0], atol=0.02, rtol=0)


def test_orthogonal_keeps_singular_vectors_and_evens_values():
    matrix = parameters((5, 8))[0].detach()
    u, _, v = torch.linalg.svd(matrix, full_matrices=False)
    turned = u.T @ orthogonal(matrix, 5) @ v.T
    torch.testing.assert_close(turned, turned.diag().diag(), atol=1e-4, rtol=0)
    assert (turned.diag() > 0.5).all()
    assert (turned.diag() < 1.5).all()


def test_on_the_sphere_the_norm_is_fixed_before_each_step():
    (weight,) = parameters((4, 3, 2, 2))
    optimizer = Orthogonal([weight], lr=0.1, weight_decay=0.0, momentum=0.6, steps=3, sphere=True)
    start = weight.detach() * (4**0.5 / weight.detach().norm())
    weight.grad = torch.ones_like(weight)
    optimizer.step()
    expected = start - 0.1 * orthogonal(torch.ones(4, 12), 3).reshape(4, 3, 2, 2)  # the direction alone counts
    torch.testing.assert_close(weight.detach(), expected)


def test_what_is_no_matrix_steps_like_torchs_nesterov():
    ours, theirs = parameters((3, 4), (7,)), parameters((3, 4), (7,))
    rest = [{"params": ours, "matrix": False}]
    found = stepped(Orthogonal(rest, lr=0.1, weight_decay=0.01, momentum=0.5, steps=3, sphere=True), ours)
    how = {"lr": 0.1, "weight_decay": 0.01, "momentum": 0.85, "nesterov": True}
    torch.testing.assert_close(found, stepped(torch.optim.SGD(theirs, **how), theirs))


def test_biases_and_the_head_have_rates_of_their_own_and_the_same_decay_per_step():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 3))
    recipe = Recipe(lr=0.1, weight_decay=0.02, bias_rate_scale=64.0, head_rate_scale=4.0)
    found = groups(model, list(model.parameters()), recipe, by_kind=False)
    rates = {id(p): (group["lr"], group["weight_decay"]) for group in found for p in group["params"]}
    conv, norm, _, head = model
    assert rates[id(conv.weight)] == (0.1, 0.02)
    assert rates[id(conv.bias)] == rates[id(norm.weight)] == rates[id(norm.bias)] == (6.4, 0.02 / 64)
    assert rates[id(head.weight)] == (0.4, 0.005)
    assert rates[id(head.bias)] == (6.4, 0.02 / 64)
    assert all(lr * decay == pytest.approx(0.002) for lr, decay in rates.values())
    assert groups(model, list(model.parameters()), Recipe(lr=0.1), by_kind=False) is None


def test_a_schedule_moves_every_group_by_its_share():
    model = nn.Sequential(nn.Flatten(), nn.Linear(8, 3))
    recipe = Recipe(lr=0.1, epochs=2, schedule="linear", bias_rate_scale=2.0)
    optimizer = torch.optim.SGD(groups(model, list(model.parameters()), recipe, by_kind=False), lr=0.1)
    set_rate(optimizer, recipe, 5, 20)
    assert sorted(group["lr"] for group in optimizer.param_groups) == pytest.approx([0.075, 0.15])


@pytest.mark.parametrize("name", ["muon", "spectral", "nesterov"])
def test_it_learns(name):
    recipe = Recipe(model="cnn", lr=0.05, epochs=2, limit=300, batch_size=32, optimizer=name)
    ready = prepare(recipe)
    rows = [row for row, _ in ready.fit(ready.model())]
    assert rows[1]["train_loss"] < rows[0]["train_loss"]


@pytest.mark.parametrize("name", ["muon", "spectral"])
def test_mytorch_refuses_by_name(name):
    ready = prepare(Recipe(model="mlp", lr=0.05, epochs=1, limit=40, optimizer=name, backend="mytorch"))
    with pytest.raises(RecipeError, match=f"^{name} does not run on mytorch .*; use --backend torch$"):
        ready.optimizers(ready.model())

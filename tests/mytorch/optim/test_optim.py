"""Optimisers step for step beside torch's, and their state moved between the libraries."""

import io

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mytorch
from mytorch.optim import optimizer as base

SETTINGS = {
    "sgd": ("SGD", {"lr": 0.1}),
    "sgd-decay": ("SGD", {"lr": 0.1, "weight_decay": 0.1}),
    "sgd-momentum": ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 5e-2, "dampening": 0.3}),
    "sgd-nesterov": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    "sgd-maximize": ("SGD", {"lr": 0.1, "momentum": 0.5, "maximize": True}),
    "adam": ("Adam", {"lr": 0.05}),
    "adam-all": (
        "Adam",
        {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1, "amsgrad": True},
    ),
    "adam-maximize": ("Adam", {"lr": 0.05, "maximize": True, "fused": False, "foreach": False}),
    "adamw": ("AdamW", {"lr": 0.05}),
    "adamw-all": ("AdamW", {"lr": 0.05, "weight_decay": 0.3, "amsgrad": True}),
    "adadelta": ("Adadelta", {}),
    "adadelta-all": ("Adadelta", {"lr": 0.5, "rho": 0.8, "eps": 1e-3, "weight_decay": 0.1}),
    "adagrad": ("Adagrad", {}),
    "adagrad-all": (
        "Adagrad",
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.2, "eps": 1e-3},
    ),
    "adamax": ("Adamax", {}),
    "adamax-all": ("Adamax", {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    "nadam": ("NAdam", {"lr": 0.05}),
    "nadam-all": ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "momentum_decay": 0.1, "decoupled_weight_decay": True}),
    "radam": ("RAdam", {"lr": 0.05}),
    "radam-all": ("RAdam", {"lr": 0.05, "betas": (0.8, 0.9), "weight_decay": 0.1, "eps": 1e-3}),
    "asgd": ("ASGD", {}),
    "asgd-all": ("ASGD", {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 3, "weight_decay": 0.1}),
    "rprop": ("Rprop", {}),
    "rprop-all": ("Rprop", {"lr": 0.1, "etas": (0.4, 1.5), "step_sizes": (0.01, 0.3)}),
    "adafactor": ("Adafactor", {}),
    "adafactor-all": ("Adafactor", {"lr": 0.1, "beta2_decay": -0.5, "d": 1.5, "weight_decay": 0.1}),
    "rmsprop": ("RMSprop", {}),
    "rmsprop-all": ("RMSprop", {"momentum": 0.9, "centered": True, "weight_decay": 0.1, "alpha": 0.9}),
}
SHAPES = ((3, 4), (5,), ())


def leaves(lib, dtype="float64", shapes=SHAPES):
    rng = np.random.default_rng(0)
    return [lib.from_numpy(np.asarray(rng.normal(size=s), dtype)).requires_grad_() for s in shapes]


def set_grads(lib, params, step):
    rng = np.random.default_rng(step + 1)
    for place, param in enumerate(params):
        grad = np.asarray(rng.normal(size=tuple(param.shape)), str(param.dtype).removeprefix("torch."))
        # Now and then a parameter takes no part in a step.
        param.grad = None if (step + place) % 4 == 3 else lib.from_numpy(grad)


def agree(ours, theirs, rtol=1e-10):
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize(("dtype", "rtol"), [("float64", 1e-10), ("float32", 2e-5)])
def test_steps_as_torch(name, dtype, rtol):
    kind, options = SETTINGS[name]
    ours, theirs = leaves(mytorch, dtype), leaves(torch, dtype)
    a, b = getattr(mytorch.optim, kind)(ours, **options), getattr(torch.optim, kind)(theirs, **options)
    for step in range(8):
        set_grads(mytorch, ours, step)
        set_grads(torch, theirs, step)
        before = [None if p.grad is None else p.grad.numpy().copy() for p in ours]
        a.step()
        b.step()
        agree(ours, theirs, rtol)
        for p, grad in zip(ours, before):  # a step leaves the gradients alone
            assert grad is None or (p.grad.numpy() == grad).all()


@pytest.mark.parametrize("name", SETTINGS)
def test_long_parameters_in_pieces(name, monkeypatch):
    """Working piece by piece changes nothing, also with memory in another order."""
    kind, options = SETTINGS[name]
    results = []
    for piece in (1 << 20, 5):
        monkeypatch.setattr(base, "PIECE", piece)
        params = leaves(mytorch, shapes=((4, 6), (17,)))
        params[0]._array = np.asfortranarray(params[0]._array)
        optimizer = getattr(mytorch.optim, kind)(params, **options)
        for step in range(3):
            set_grads(mytorch, params, step)
            optimizer.step()
        results.append([p.detach().numpy() for p in params])
    for whole, pieced in zip(*results):
        np.testing.assert_allclose(whole, pieced, rtol=1e-14)


@pytest.mark.parametrize("name", SETTINGS)
def test_state_moves_both_ways(name):
    """Three steps here, then the state goes to the other library; both go on alike."""
    kind, options = SETTINGS[name]
    ours, theirs = leaves(mytorch), leaves(torch)
    a, b = getattr(mytorch.optim, kind)(ours, **options), getattr(torch.optim, kind)(theirs, **options)
    for step in range(3):
        set_grads(mytorch, ours, step)
        set_grads(torch, theirs, step)
        a.step()
        b.step()
    mine, other = a.state_dict(), b.state_dict()
    assert mine["param_groups"] == other["param_groups"]
    assert {k: sorted(v) for k, v in mine["state"].items()} == {k: sorted(v) for k, v in other["state"].items()}
    fresh_a = getattr(mytorch.optim, kind)(ours, lr=1.0)
    fresh_b = getattr(torch.optim, kind)(theirs, lr=1.0)
    fresh_a.load_state_dict(other)
    fresh_b.load_state_dict(mytorch.serialization.to_torch(mine))
    for step in range(3, 6):
        set_grads(mytorch, ours, step)
        set_grads(torch, theirs, step)
        fresh_a.step()
        fresh_b.step()
        agree(ours, theirs)


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_that_are_tensors(name):
    kind, options = SETTINGS[name]
    expected, params = leaves(mytorch), leaves(mytorch)
    a = getattr(mytorch.optim, kind)(expected, **options)
    b = getattr(mytorch.optim, kind)(params, **options)
    for group in b.param_groups:
        for setting in ("lr", "weight_decay"):
            if setting in group:
                group[setting] = mytorch.tensor(group[setting], dtype=mytorch.float64)
    for step in range(3):
        set_grads(mytorch, expected, step)
        set_grads(mytorch, params, step)
        a.step()
        b.step()
    agree(params, expected)


def test_a_schedule_of_a_rate_that_is_a_tensor():
    rates = []
    for lib in (mytorch, torch):
        made = lib.optim.Adam([lib.ones(2, requires_grad=True)], lr=lib.tensor(0.1))
        schedule = lib.optim.lr_scheduler.LambdaLR(made, lambda epoch: 0.5**epoch)
        rates.append([float(schedule.get_last_lr()[0])])
        for _ in range(3):
            made.step()
            schedule.step()
            rates[-1].append(float(made.param_groups[0]["lr"]))
    assert rates[0] == rates[1]


def test_loading_copies():
    params = leaves(mytorch)
    optimizer = mytorch.optim.SGD(params, 0.1, momentum=0.9)
    set_grads(mytorch, params, 0)
    optimizer.step()
    state = optimizer.state_dict()
    other = mytorch.optim.SGD(params, 0.1, momentum=0.9)
    other.load_state_dict(state)
    kept = other.state[params[0]]["momentum_buffer"].numpy().copy()
    optimizer.step()
    np.testing.assert_array_equal(other.state[params[0]]["momentum_buffer"].numpy(), kept)
    with pytest.raises(ValueError, match="different number of parameter groups"):
        other.load_state_dict({"state": {}, "param_groups": []})
    with pytest.raises(ValueError, match="size of optimizer's group"):
        mytorch.optim.SGD(params[:1], 0.1).load_state_dict(state)


def test_groups_have_their_own_settings():
    ours, theirs = leaves(mytorch), leaves(torch)
    optimizers = []
    for lib, params in ((mytorch, ours), (torch, theirs)):
        optimizer = lib.optim.SGD([{"params": params[0]}, {"params": params[1:2], "lr": 0.5}], lr=0.1)
        optimizer.add_param_group({"params": params[2:], "weight_decay": 0.5})
        set_grads(lib, params, 0)
        optimizer.step()
        optimizers.append(optimizer)
    agree(ours, theirs)
    assert repr(optimizers[0]) == repr(optimizers[1])
    assert optimizers[0].state_dict()["param_groups"] == optimizers[1].state_dict()["param_groups"]
    named = mytorch.optim.SGD(mytorch.nn.Linear(2, 2).named_parameters())
    assert named.param_groups[0]["param_names"] == ["weight", "bias"]


def test_closure_zero_grad_and_versions():
    param = mytorch.ones(2, requires_grad=True)
    optimizer = mytorch.optim.SGD([param], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (param * param).sum()
        loss.backward()
        return loss

    with mytorch.no_grad():
        assert optimizer.step(closure).item() == 2.0
    np.testing.assert_allclose(param.detach().numpy(), 0.8, rtol=1e-6)
    optimizer.zero_grad(set_to_none=False)
    assert param.grad.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert param.grad is None
    # A step changes weights that a graph still needs: backward must notice.
    loss = (param * param).sum()
    param.grad = mytorch.ones(2)
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_wrong_use_is_told_as_torch_does():
    def attempts(lib):
        x = lib.ones(2, requires_grad=True)
        return [
            lambda: lib.optim.SGD([], lr=0.1),
            lambda: lib.optim.SGD(x, lr=0.1),
            lambda: lib.optim.SGD([x * 2], lr=0.1),
            lambda: lib.optim.SGD([x], lr=-1),
            lambda: lib.optim.SGD([x], lr=0.1, momentum=-1),
            lambda: lib.optim.SGD([x], lr=0.1, nesterov=True),
            lambda: lib.optim.SGD([{"params": x}, {"params": x}], lr=0.1),
            lambda: lib.optim.SGD([{"params": {x}}], lr=0.1),
            lambda: lib.optim.SGD([3], lr=0.1),
            lambda: lib.optim.Adam([x], betas=(1.0, 0.9)),
            lambda: lib.optim.Adam([x], eps=-1),
            lambda: lib.optim.Adadelta([x], rho=2),
            lambda: lib.optim.RMSprop([x], weight_decay=-1),
        ]

    for ours, theirs in zip(attempts(mytorch), attempts(torch)):
        with pytest.raises((TypeError, ValueError)) as mine:
            ours()
        with pytest.raises(type(mine.value)) as other:
            theirs()
        assert str(mine.value) == str(other.value)
    with pytest.raises(NotImplementedError, match=r"torch\.optim\.Muon"):
        _ = mytorch.optim.Muon


@given(
    lr=st.floats(1e-4, 1.0),
    momentum=st.floats(0, 0.99),
    decay=st.floats(0, 0.5),
    nesterov=st.booleans(),
    steps=st.integers(1, 5),
)
@settings(max_examples=20, deadline=None)
def test_sgd_over_drawn_settings(lr, momentum, decay, nesterov, steps):
    options = {"lr": lr, "momentum": momentum, "weight_decay": decay, "nesterov": nesterov and momentum > 0}
    ours, theirs = leaves(mytorch), leaves(torch)
    a, b = mytorch.optim.SGD(ours, **options), torch.optim.SGD(theirs, **options)
    for step in range(steps):
        set_grads(mytorch, ours, step)
        set_grads(torch, theirs, step)
        a.step()
        b.step()
    agree(ours, theirs)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
@pytest.mark.parametrize("options", [{}, {"lr": 0.3, "max_iter": 4, "history_size": 2}])
def test_lbfgs_on_rosenbrocks_valley(search, options):
    """A curved valley makes the line search bracket and narrow; every point visited is torch's."""
    paths = []
    for lib in (mytorch, torch):
        p = lib.tensor([-1.2, 1.0], dtype=lib.float64, requires_grad=True)
        q = lib.tensor([0.5], dtype=lib.float64, requires_grad=True)
        made = lib.optim.LBFGS([p, q], line_search_fn=search, **options)
        path = []

        def closure(p=p, q=q, made=made, path=path):
            made.zero_grad()
            loss = 100 * (p[1] - p[0] ** 2) ** 2 + (1 - p[0]) ** 2 + (q**4).sum()
            loss.backward()
            path.append([*p.tolist(), loss.item()])
            return loss

        for _ in range(3):
            made.step(closure)
        paths.append(path)
    assert len(paths[0]) == len(paths[1]) > 6
    # a long path doubles the last digit's difference at every turn
    np.testing.assert_allclose(paths[0][:35], paths[1][:35], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(paths[0][-1], paths[1][-1], rtol=1e-2, atol=1e-5)
    with pytest.raises(TypeError, match="closure"):
        mytorch.optim.LBFGS([mytorch.ones(1, requires_grad=True)]).step()


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_the_state_of_lbfgs_moves_both_ways(search):
    def started(lib):
        p = lib.tensor([-1.2, 1.0], dtype=lib.float64, requires_grad=True)
        return p, lib.optim.LBFGS([p], lr=0.3, max_iter=3, line_search_fn=search)

    def step(p, made):
        def closure():
            made.zero_grad()
            loss = 100 * (p[1] - p[0] ** 2) ** 2 + (1 - p[0]) ** 2
            loss.backward()
            return loss

        made.step(closure)

    ends = []
    for first, second in ((torch, torch), (mytorch, torch), (torch, mytorch), (mytorch, mytorch)):
        p, made = started(first)
        step(p, made)
        file = io.BytesIO()
        first.save([p.detach(), made.state_dict()], file)
        file.seek(0)
        values, state = second.load(file)
        q, other = started(second)
        q.data.copy_(values)
        other.load_state_dict(state)
        step(q, other)
        ends.append(q.tolist())
    for end in ends[1:]:
        assert end == pytest.approx(ends[0], rel=1e-8)


def test_sparse_adam_leaves_untouched_rows_alone():
    rng = np.random.default_rng(0)
    table, rows = rng.normal(size=(6, 3)), [[0, 2, 2], [1, 2, 5], [0, 0, 5]]
    results = []
    for lib in (mytorch, torch):
        layer = lib.nn.Embedding(6, 3, sparse=True, dtype=lib.float64)
        layer.weight.data.copy_(lib.from_numpy(table))
        optimizer = lib.optim.SparseAdam(layer.parameters(), lr=0.1)
        for step in rows:
            optimizer.zero_grad()
            (layer(lib.tensor(step)) ** 3).sum().backward()
            optimizer.step()
        results.append(layer.weight.detach().numpy())
    np.testing.assert_allclose(*results, rtol=1e-10)
    assert (results[0][[3, 4]] == table[[3, 4]]).all()


@pytest.mark.parametrize(("name", "settings"), [("Adam", {"weight_decay": 0.1}), ("SGD", {"momentum": 0.9})])
def test_complex_parameters_are_pairs_of_real_ones(name, settings):
    rng = np.random.default_rng(0)
    start, x = (rng.normal(size=(2, 3, 4)) @ np.ones((4, 3)) * (1 + 2j) for _ in range(2))
    results = []
    for lib in (mytorch, torch):
        weight = lib.nn.Parameter(lib.from_numpy(start.copy()))
        optimizer = getattr(lib.optim, name)([weight], lr=0.1, **settings)
        for _ in range(3):
            optimizer.zero_grad()
            product = lib.from_numpy(x) @ weight.transpose(1, 2)
            spectrum = lib.einsum("bij,bjk->ik", product, weight)
            (product.abs().sum() + (spectrum * spectrum.conj()).real.sum() / 100).backward()
            optimizer.step()
        results.append(weight.detach().numpy())
    np.testing.assert_allclose(*results, rtol=1e-9)


@pytest.mark.parametrize("lib", [mytorch, torch], ids=["mytorch", "torch"])
def test_hooks_around_a_step(lib):
    weight = lib.nn.Parameter(lib.ones(1))
    optimizer, calls = lib.optim.SGD([weight], lr=0.5), []
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: calls.append(("before", weight.item())))
    handle = optimizer.register_step_post_hook(lambda opt, args, kwargs: calls.append(("after", weight.item())))
    for _ in range(2):
        weight.grad = lib.ones(1)
        optimizer.step()
        handle.remove()
    assert calls == [("before", 1.0), ("after", 0.5), ("before", 0.5)]

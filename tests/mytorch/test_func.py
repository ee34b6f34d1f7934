"""torch.func beside torch's own: derivatives as functions, other weights in a module, vmap."""

import numpy as np
import pytest
import torch

import mytorch
import mytorch.func

RNG = np.random.default_rng(0)
X, Y, W = RNG.normal(size=(5, 3)), RNG.normal(size=(5, 2)), RNG.normal(size=(2, 3))


def close(a, b):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-8, atol=1e-10)


def test_derivatives_as_functions():
    rows = []
    for lib in (mytorch, torch):
        func, x, v = lib.func, lib.from_numpy(X[0]), lib.from_numpy(W[0])

        def f(a, b):
            return (a.sin() * b).sum() + (a**3).sum()

        value, back = func.vjp(lambda a: a.exp() * a.sum(), x)
        rows.append(
            [
                func.grad(f)(x, v),
                *func.grad(f, argnums=(0, 1))(x, v),
                *func.grad_and_value(f)(x, v),
                func.grad(lambda a, func=func: func.grad(lambda b: (b**4).sum())(a).sum())(x),
                func.jacrev(lambda a: a.exp() * a.sum())(x),
                func.hessian(lambda a: (a**3).sum() * a.sum())(x),
                value,
                back(v)[0],
            ]
        )
    for a, b in zip(*rows):
        close(a, b)


def test_maml_like_inner_step_and_gradients_per_sample():
    rows = []
    for lib in (mytorch, torch):
        func = lib.func
        model = lib.nn.Linear(3, 2).double()
        model.weight.data, model.bias.data = lib.from_numpy(W.copy()), lib.zeros(2).double()
        weights = {name: p.detach() for name, p in model.named_parameters()}
        x, y = lib.from_numpy(X), lib.from_numpy(Y)

        def loss(weights, x, y, model=model, func=func):
            return (func.functional_call(model, weights, (x,)) - y).pow(2).mean()

        def outer(weights, loss=loss, func=func, x=x, y=y):
            first = func.grad(loss)(weights, x, y)
            return loss({name: weights[name] - 0.1 * first[name] for name in weights}, x, y)

        meta = func.grad(outer)(weights)
        single = func.vmap(func.grad(loss), in_dims=(None, 0, 0))(weights, x, y)
        rows.append([*meta.values(), *single.values(), lib.vmap(lambda a: a.sum(), in_dims=1)(x)])
        assert model.weight is dict(model.named_parameters())["weight"]
    for a, b in zip(*rows):
        close(a, b)
    with pytest.raises(KeyError, match="nothing"):
        mytorch.func.functional_call(mytorch.nn.Linear(1, 1), {"nothing": mytorch.ones(1)}, (mytorch.ones(1, 1),))


def test_jacobians_of_several_arguments_and_of_dicts():
    rows = []
    for lib in (mytorch, torch):
        func, w, x = lib.func, lib.from_numpy(W), lib.from_numpy(X[0])

        def predict(weight, a):
            return (weight @ a).tanh()

        def by_name(parameters, a):
            return predict(parameters["w"], a) * parameters["b"]

        parameters = {"w": w, "b": lib.ones(2, dtype=lib.float64)}
        found = func.jacrev(by_name)(parameters, x)
        jacobian, aux = func.jacrev(lambda a: (a.exp(), a.sum()), has_aux=True)(x)
        second = func.hessian(predict, argnums=1)(w, x)  # of a vector
        rows.append(
            [*func.jacrev(predict, argnums=(0, 1))(w, x), found["w"], found["b"], jacobian, aux, second,
             func.jacfwd(func.jacfwd(predict, argnums=1), argnums=1)(w, x)]
        )  # fmt: skip
    for a, b in zip(*rows):
        close(a, b)


def test_products_with_the_jacobian():
    rows = []
    for lib in (mytorch, torch):
        func, x, v = lib.func, lib.from_numpy(X[0]), lib.from_numpy(W[0])

        def f(a):
            return a.sin().sum()

        value, product = func.jvp(lambda a: (a.exp(), a.prod()), (x,), (v,))
        _, by_name = func.jvp(lambda p: p["a"] * p["b"], ({"a": x, "b": v},), ({"a": v, "b": x},))
        _, back = func.vjp(func.grad(f), x)
        both, back_to_dict = func.vjp(lambda p: (p["a"] * 2, p["a"] ** 2), {"a": x})
        (gradient,) = back_to_dict((v, v))
        hvp = func.jvp(func.grad(f), (x,), (v,))[1]
        rows.append([*value, *product, by_name, back(v)[0], *both, gradient["a"], hvp])
    for a, b in zip(*rows):
        close(a, b)

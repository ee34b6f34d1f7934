"""linalg.lu and its like beside torch's, with gradients."""

import numpy as np
import pytest
import torch

import mytorch


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 4), (2, 3, 5, 3), (2, 3, 5), (0, 3, 3)])
@pytest.mark.parametrize("name", ["lu", "lu_factor", "lu_factor_ex"])
def test_factors_and_their_gradients(name, shape):
    matrix = np.random.default_rng(0).normal(size=shape)
    rows = []
    for lib in (mytorch, torch):
        leaf = lib.from_numpy(matrix).requires_grad_()
        made = getattr(lib.linalg, name)(leaf)
        for part in made:
            if part.requires_grad:
                weights = lib.arange(1.0, part.numel() + 1).reshape(part.shape)
                (part * weights).sum().backward(retain_graph=True)
        rows.append([part.detach().numpy() for part in (*made, leaf.grad)])
        assert [part.shape for part in made] == [part.shape for part in getattr(lib.linalg, name)(leaf.detach())]
    for a, b in zip(*rows, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_solving(left, adjoint):
    rng = np.random.default_rng(1)
    matrix, right = rng.normal(size=(2, 4, 4)), rng.normal(size=(2, 4, 3) if left else (2, 3, 4))
    rows = []
    for lib in (mytorch, torch):
        leaves = [lib.from_numpy(each).requires_grad_() for each in (matrix, right)]
        factors, pivots = lib.linalg.lu_factor(leaves[0])
        x = lib.linalg.lu_solve(factors, pivots, leaves[1], left=left, adjoint=adjoint)
        x.pow(2).sum().backward()
        rows.append([x.detach().numpy(), *(leaf.grad.numpy() for leaf in leaves)])
        rows[-1] += [part.detach().numpy() for part in lib.lu_unpack(factors, pivots)]
    for a, b in zip(*rows, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)


def test_gradients_of_gradients():
    matrix = mytorch.from_numpy(np.random.default_rng(2).normal(size=(3, 3))).requires_grad_()
    assert mytorch.autograd.gradgradcheck(lambda a: mytorch.linalg.lu_factor(a).LU, (matrix,))

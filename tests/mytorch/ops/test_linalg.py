"""Products of any rank against torch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import broadcastable, check, gradcheck, layouts

import mytorch


@settings(max_examples=30, deadline=None)
@given(
    batches=broadcastable(),
    sizes=st.tuples(*[st.integers(1, 4)] * 3),
    layout=layouts,
    seed=st.integers(0, 99),
)
def test_matmul_of_batches(batches, sizes, layout, seed):
    m, k, n = sizes
    check(lambda t, a, b: a @ b, (*batches[0], m, k), (*batches[1], k, n), layout=layout, seed=seed)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3,), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3,)),
        ((3,), (4, 3, 2)),
        ((4, 2, 3), (3,)),
        ((2, 2, 3), (3, 5)),
        ((2, 3), (4, 3, 2)),
    ],
)
def test_matmul_with_vectors(left, right):
    check(lambda t, a, b: (a @ b, t.matmul(a, b) * 2), left, right)


def test_named_products():
    check(
        lambda t, a, b: (t.mm(a, b), a.mm(b), t.mv(a, b[:, 0]), t.dot(a[0], b[:, 0]), t.outer(a[0], b[0])),
        (2, 3),
        (3, 4),
    )
    check(lambda t, a, b: (t.bmm(a, b), t.baddbmm(a @ b, a, b, beta=0.5, alpha=2)), (2, 3, 4), (2, 4, 2))
    check(lambda t, a, b, c: (t.addmm(c, a, b), c.addmm(a, b, beta=2, alpha=0.5)), (2, 3), (3, 4), (4,))
    check(
        lambda t, a, b: (t.tensordot(a, b, 1), t.tensordot(a, a, ([0, 1], [0, 1])), t.trace(a)),
        (2, 3),
        (3, 4),
    )
    check(lambda t, a: a.T @ a, (3, 2))


EQUATIONS = {
    "ij,jk->ik": [(2, 3), (3, 4)],
    "bij,bjk->bik": [(2, 3, 4), (2, 4, 2)],
    "ij->ji": [(2, 3)],
    "ij->": [(2, 3)],
    "ii->i": [(3, 3)],
    "ii": [(3, 3)],
    "i,j->ij": [(2,), (3,)],
    "...ij,...jk->...ik": [(2, 2, 3), (3, 4)],
    "b h q d, b h k d -> b h q k": [(2, 2, 3, 4), (2, 2, 5, 4)],
    "ij,jk,kl->il": [(2, 3), (3, 4), (4, 2)],
    "ij,jk": [(2, 3), (3, 4)],
    "ij,ij->i": [(2, 3), (2, 3)],
    "bn,anm,bm->ba": [(2, 3), (5, 3, 4), (2, 4)],
    "...->...": [(2, 3)],
    "ij,k->i": [(2, 3), (4,)],
}


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum(equation):
    check(lambda t, *xs: t.einsum(equation, *xs), *EQUATIONS[equation])


def test_errors():
    a, b = mytorch.ones(2, 3), mytorch.ones(2, 3)
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"):
        a @ b
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(8x3 and 2x3\)"):
        mytorch.ones(4, 2, 3) @ b
    with pytest.raises(RuntimeError, match=r"Expected size for first two dimensions of batch2 tensor to be: \[2, 3\]"):
        mytorch.ones(2, 2, 3) @ mytorch.ones(2, 4, 3)
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(2\) must match the size of tensor b \(3\)"):
        mytorch.ones(2, 2, 3) @ mytorch.ones(3, 3, 3)
    with pytest.raises(RuntimeError, match="expected m1 and m2 to have the same dtype, but got: float != double"):
        a @ b.T.double()
    with pytest.raises(RuntimeError, match="both arguments to matmul need to be at least 1D"):
        a @ mytorch.tensor(1.0)
    with pytest.raises(RuntimeError, match="batch1 must be a 3D tensor"):
        mytorch.bmm(a, b)


def test_gradients_against_differences():
    gradcheck(lambda a, b: a @ b, (2, 2, 3), (3, 2))
    gradcheck(lambda a, b: mytorch.einsum("bij,kj->bik", a, b), (2, 2, 3), (2, 3))
    assert np.isfinite(mytorch.ones(2, 0).matmul(mytorch.ones(0, 2)).numpy()).all()


@pytest.mark.parametrize(
    "fn",
    [
        lambda t, a: t.linalg.eigvalsh(a).sum(),
        lambda t, a: t.linalg.eigh(a)[0].square().sum(),
        *(lambda t, a, p=p: t.linalg.matrix_norm(a, p) for p in (2, -2, "nuc")),
        lambda t, a: t.linalg.svdvals(a[:, :2]).sum(),
        lambda t, a: t.linalg.svdvals(a[:2]).exp().sum(),
    ],
)
def test_values_that_repeat_have_gradients(fn):
    check(fn, np.eye(3))
    check(fn, np.diag([2.0, 2.0, 1.0]))

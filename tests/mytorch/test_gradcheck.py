"""Gradients against differences of values, for a machine without torch: this file does not import it."""

import numpy as np
import pytest
from oracle import gradcheck

import mytorch as t

MATRIX = {
    "arithmetic": lambda a: (a * a + 1) / (a + 3) - a**3 + 2**a,
    "broadcasting": lambda a: a * a[0] + a[:, :1] / (a.sum() + 20),
    "functions": lambda a: a.exp() + a.sin() * a.cos() + a.tanh() + a.sigmoid() + a.erf() + a.atan(),
    "roots and logs": lambda a: (a.abs() + 1).sqrt() + (a * a + 1).log() + (a * a + 1).rsqrt() + (a + 3).log1p(),
    "pieces": lambda a: a.relu() + a.abs() + a.clamp(-1, 1) + a.maximum(a.T) + a.where(a > 0.5, a * 2),
    "products": lambda a: a @ a + a.T @ a[0] + t.outer(a[0], a[1]) + t.einsum("ij,kj->ik", a, a),
    "batches": lambda a: t.matmul(a.reshape(3, 1, 3), a.expand(3, 3, 3)),
    "sums": lambda a: a.sum(0) + a.mean(1) + a.prod(0) + a.cumsum(1) + a.logsumexp(0),
    "spread": lambda a: a.var(0) + a.std(1) + a.norm(dim=0) + a.norm(3, dim=1),
    "extremes": lambda a: a.max(0).values + a.min(1)[0] + a.amax(0) + a.sort(1)[0] + a.topk(3)[0] + a.median(),
    "softmaxes": lambda a: a.softmax(0) + a.log_softmax(1),
    "shapes": lambda a: a.T.reshape(9)[:3] + a.flatten()[1::3] + a.permute(1, 0).unsqueeze(0).squeeze(0).flip(0),
    "joins": lambda a: t.cat([a, a * 2]).sum(0) + t.stack([a, a.T], 2)[..., 1] + a.repeat(2, 1)[2:5] + a.roll(1),
    "pieces of a whole": lambda a: sum(p * (i + 1) for i, p in enumerate(a.split(1))) + a.unbind(1)[2] + a.chunk(3)[0],
    "triangles": lambda a: a.tril() + a.triu(1) * 2 + a.diagonal() + t.diag(a[0]),
    "indices": lambda a: a[[0, 0, 2]] + a[1] * a[:, 2] + a[t.tensor([1, 2, 1]), t.tensor([0, 0, 1])] + a[a > -9].sum(),
    "gathered": lambda a: a.gather(1, t.tensor([[0, 0, 1]] * 3)) + a.index_select(0, t.tensor([2, 2, 0])),
    "scattered": lambda a: a.scatter_add(0, t.tensor([[0, 0, 1]]), a[:1]) + a.index_add(0, t.tensor([1]), a[2:]),
    "masked": lambda a: a.masked_fill(a > 0, 3.0) + a.masked_fill(t.eye(3) > 0, 0.0),
    "windows": lambda a: a.unfold(1, 2, 1).sum(-1),
}  # fmt: skip


@pytest.mark.parametrize("name", MATRIX)
def test_gradients(name):
    gradcheck(MATRIX[name], (3, 3))


def changed_in_place(a):
    x = a * 1
    x[0] = a[1] * 2
    x[:, 1] += a[0]
    x[2].mul_(a[1])
    x.add_(a.T).tanh_()
    return x


def test_in_place_changes():
    gradcheck(changed_in_place, (3, 3))


def test_gradcheck_finds_a_wrong_gradient():
    from mytorch.autograd import record

    def wrong(a):
        return record(a.detach().numpy() ** 2, (a,), lambda g: (g * np.float64(2.5),))

    with pytest.raises(AssertionError, match="gradient of input 0"):
        gradcheck(wrong, (2,))

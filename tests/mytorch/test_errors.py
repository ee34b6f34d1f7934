"""Faults scripts run into: torch's exception types and the beginnings of its messages."""

import pytest
import torch

import mytorch

FAULTS = {
    "dim": lambda t: t.ones(2, 3).sum(5),
    "matmul": lambda t: t.ones(2, 3) @ t.ones(4, 5),
    "matmul of vectors": lambda t: t.ones(3).matmul(t.ones(4)),
    "matmul with a vector": lambda t: t.ones(2, 3).matmul(t.ones(4)),
    "matmul of dtypes": lambda t: t.ones(2, 3) @ t.ones(3, 2).double(),
    "broadcasting": lambda t: t.ones(3) + t.ones(4),
    "item": lambda t: t.ones(2).item(),
    "number": lambda t: int(t.ones(2)),
    "condition": lambda t: bool(t.ones(2)),
    "empty condition": lambda t: bool(t.ones(0)),
    "backward of a constant": lambda t: t.ones(2).backward(),
    "backward of many": lambda t: (t.ones(2, requires_grad=True) * 2).backward(),
    "leaf in place": lambda t: t.ones(2, requires_grad=True).add_(1),
    "numpy of a leaf": lambda t: t.ones(2, requires_grad=True).numpy(),
    "view": lambda t: t.ones(2, 3).view(5),
    "view of a transpose": lambda t: t.ones(2, 3).T.view(6),
    "reshape": lambda t: t.ones(2).reshape(3, -1),
    "cat of nothing": lambda t: t.cat([]),
    "cat": lambda t: t.cat([t.ones(2, 3), t.ones(3, 2)]),
    "stack": lambda t: t.stack([t.ones(2), t.ones(3)]),
    "permute": lambda t: t.ones(2, 2).permute(0, 0),
    "transpose": lambda t: t.ones(2, 2).transpose(0, 3),
    "t": lambda t: t.ones(2, 2, 2).t(),
    "expand": lambda t: t.ones(2, 3).expand(3, 3),
    "repeat": lambda t: t.ones(2, 2).repeat(2),
    "index": lambda t: t.ones(2)[3],
    "indices": lambda t: t.ones(2)[0, 0],
    "gather": lambda t: t.gather(t.ones(2, 2), 1, t.tensor([[5]])),
    "integers' mean": lambda t: t.arange(3).mean(),
    "integers' gradient": lambda t: t.tensor([1]).requires_grad_(),
    "integers' powers": lambda t: t.tensor([2]) ** -1,
    "float into integers": lambda t: t.zeros(2).long().add_(0.5),
    "len": lambda t: len(t.tensor(1)),
    "iter": lambda t: iter(t.tensor(1)),
    "topk": lambda t: t.ones(2, 3).topk(9),
    "max of nothing": lambda t: t.ones(0).max(),
    "argmax of nothing": lambda t: t.ones(0).argmax(),
    "softmax": lambda t: t.ones(2).softmax(3),
    "dims of prod": lambda t: t.ones(2, 3).prod((0, 1)),
    "bits of floats": lambda t: t.ones(2) & t.ones(2),
    "negative booleans": lambda t: -t.tensor([True]),
    "difference of booleans": lambda t: t.tensor([True]) - t.tensor([True]),
    "negative sizes": lambda t: t.ones(-1),
    "clamp": lambda t: t.ones(2).clamp(),
    "where": lambda t: t.where(t.ones(2), 1.0, 0.0),
    "chunk": lambda t: t.ones(2, 3).chunk(0),
    "unfold": lambda t: t.ones(4).unfold(0, 5, 1),
    "bincount": lambda t: t.bincount(t.tensor([-1])),
    "randint": lambda t: t.randint(3, 3, (2,)),
    "arange": lambda t: t.arange(0, 5, 0),
    "from_numpy": lambda t: t.from_numpy([1]),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_torchs(name):
    with pytest.raises(Exception) as theirs:
        FAULTS[name](torch)
    with pytest.raises(theirs.type) as ours:
        FAULTS[name](mytorch)
    assert str(ours.value)[:12] == str(theirs.value)[:12]

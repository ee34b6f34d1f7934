"""Changing a whole module's dtype; there is one device."""

import pytest
from test_module import net

import mytorch


def test_conversion_keeps_the_tensors_and_leaves_integers():
    model = net(mytorch)
    weight = model.first.weight
    optimizer = mytorch.optim.SGD(model.parameters(), lr=0.1)
    model(mytorch.ones(4, 2)).sum().backward()
    assert model.to("cpu", mytorch.float64) is model
    assert model.first.weight is weight
    assert weight.dtype == mytorch.float64
    assert weight.grad.dtype == mytorch.float64
    assert model.layers[1].num_batches_tracked.dtype == mytorch.int64
    optimizer.step()
    model(mytorch.ones(4, 2, dtype=mytorch.float64))
    assert model.float().first.weight.dtype == mytorch.float32
    assert model.double().kept.dtype == mytorch.float64
    assert model.to(mytorch.zeros(1)).kept.dtype == mytorch.float32
    assert model.to(device=mytorch.device("cpu"), dtype=mytorch.float64).kept.dtype == mytorch.float64
    with pytest.raises(TypeError, match="only accepts floating point"):
        model.to(mytorch.int64)
    with pytest.raises(AssertionError, match="CUDA"):
        model.cuda()

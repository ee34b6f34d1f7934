"""AdaptiveLogSoftmaxWithLoss beside torch's."""

import numpy as np
import pytest
import torch

import mytorch


def test_values_gradients_and_predictions():
    rng = np.random.default_rng(0)
    x, target = rng.normal(size=(7, 16)), np.array([0, 2, 3, 5, 8, 9, 3])
    theirs = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 10, [3, 6], div_value=2.0, head_bias=True).double()
    ours = mytorch.nn.AdaptiveLogSoftmaxWithLoss(16, 10, [3, 6], div_value=2.0, head_bias=True).double()
    ours.load_state_dict(theirs.state_dict())
    assert repr(ours) == repr(theirs)
    results = []
    for lib, layer in ((mytorch, ours), (torch, theirs)):
        leaf = lib.from_numpy(x).requires_grad_()
        output, loss = layer(leaf, lib.from_numpy(target))
        loss.backward()
        single = layer(leaf[0], lib.tensor(8))
        parts = [output, loss, leaf.grad, layer.log_prob(leaf), layer.predict(leaf), *single]
        results.append([part.detach().numpy() for part in (*parts, *(p.grad for p in layer.parameters()))])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cutoffs", [[], [3, 3], [6, 3], [0, 3], [3, 10], [3.5]])
def test_cutoffs_that_make_no_sense(cutoffs):
    messages = []
    for lib in (mytorch, torch):
        with pytest.raises(ValueError, match="cutoffs should be") as error:
            lib.nn.AdaptiveLogSoftmaxWithLoss(4, 10, cutoffs)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize(("rows", "target"), [((2, 4), [1, 12]), ((2, 4), [1]), ((4,), [1]), ((2, 4), [[1], [1]])])
def test_targets_that_do_not_fit(rows, target):
    messages = []
    for lib in (mytorch, torch):
        with pytest.raises(RuntimeError) as error:
            lib.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3])(lib.ones(rows), lib.tensor(target))
        messages.append(str(error.value))
    assert messages[0] == messages[1]

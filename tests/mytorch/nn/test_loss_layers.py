"""The losses as modules, beside torch's: values and gradients."""

import numpy as np
import pytest
import torch
from oracle import compare

import mytorch

LOSSES = {
    "cross-entropy": (lambda nn, lib: nn.CrossEntropyLoss(), "classes"),
    "cross-entropy-all": (
        lambda nn, lib: nn.CrossEntropyLoss(
            weight=lib.tensor([0.5, 1.0, 2.0], dtype=lib.float64),
            ignore_index=1,
            label_smoothing=0.1,
            reduction="sum",
        ),
        "classes",
    ),
    "cross-entropy-soft": (lambda nn, lib: nn.CrossEntropyLoss(reduction="none"), "probabilities"),
    "nll": (lambda nn, lib: nn.NLLLoss(weight=lib.tensor([0.5, 1.0, 2.0], dtype=lib.float64)), "classes"),
    "mse": (lambda nn, lib: nn.MSELoss(), "probabilities"),
    "l1": (lambda nn, lib: nn.L1Loss(reduction="sum"), "probabilities"),
    "smooth-l1": (lambda nn, lib: nn.SmoothL1Loss(beta=0.5), "probabilities"),
    "bce": (lambda nn, lib: nn.BCELoss(), "probabilities"),
    "bce-logits": (
        lambda nn, lib: nn.BCEWithLogitsLoss(pos_weight=lib.tensor([1.0, 2.0, 3.0], dtype=lib.float64)),
        "probabilities",
    ),
    "kl": (lambda nn, lib: nn.KLDivLoss(reduction="batchmean"), "probabilities"),
    "kl-log": (lambda nn, lib: nn.KLDivLoss(log_target=True, reduction="sum"), "probabilities"),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name):
    build, kind = LOSSES[name]
    rng = np.random.default_rng(0)
    x = rng.uniform(0.1, 0.9, (5, 3))
    target = np.array([0, 1, 2, 2, 0]) if kind == "classes" else rng.dirichlet(np.ones(3), 5)
    results = []
    for lib in (mytorch, torch):
        loss = build(lib.nn, lib)
        leaf = lib.from_numpy(x.copy()).requires_grad_()
        value = loss(leaf, lib.from_numpy(target))
        value.sum().backward()
        results.append([value, leaf.grad])
    compare(results[0], results[1], 1e-8, 1e-8, name)


@pytest.mark.filterwarnings("ignore:size_average and reduce")
def test_the_settings_of_old_stand_for_a_reduction():
    for average in (None, True, False):
        for reduce in (None, True, False):
            kinds = [lib.nn.MSELoss(size_average=average, reduce=reduce).reduction for lib in (mytorch, torch)]
            assert kinds[0] == kinds[1]

"""Schedules against torch's schedulers, step by step."""

from itertools import pairwise

import pytest
import torch

from replab.settings.choices import schedule
from replab.settings.recipe import Recipe
from replab.training.loop import set_rate
from replab.training.schedules import momentum


def optimizer(name, lr):
    weight = torch.nn.Parameter(torch.zeros(2))
    weight.grad = torch.ones(2)
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[name]
    return kind([weight], lr=lr, **({"momentum": 0.9} if name == "sgd" else {}))


def settings(optimizer):
    group = optimizer.param_groups[0]
    return group["lr"], group["betas"][0] if "betas" in group else group["momentum"]


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd"])
@pytest.mark.parametrize("total", [7, 10, 100])
@pytest.mark.parametrize("lr", [0.01, 3e-4])
def test_one_cycle_is_torchs(name, total, lr):
    theirs, ours = optimizer(name, lr), optimizer(name, lr)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(theirs, lr, total_steps=total)
    recipe = Recipe(lr=lr, epochs=1, schedule="one-cycle", optimizer=name)
    for step in range(total):
        set_rate(ours, recipe, step, total)
        assert settings(ours) == pytest.approx(settings(theirs), rel=1e-9)
        theirs.step()
        if step + 1 < total:
            scheduler.step()


@pytest.mark.parametrize("total", [1, 2, 9, 50])
def test_cosine_is_torchs(total):
    theirs, ours = optimizer("adam", 0.1), optimizer("adam", 0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(theirs, T_max=total)
    recipe = Recipe(lr=0.1, epochs=1, schedule="cosine")
    for step in range(total):
        set_rate(ours, recipe, step, total)
        assert settings(ours) == pytest.approx(settings(theirs), rel=1e-9)
        theirs.step()
        scheduler.step()


def test_linear_is_torchs():
    theirs, ours = optimizer("sgd", 0.1), optimizer("sgd", 0.1)
    scheduler = torch.optim.lr_scheduler.LinearLR(theirs, 1.0, 0.0, total_iters=20)
    for step in range(20):
        set_rate(ours, Recipe(lr=0.1, epochs=1, schedule="linear"), step, 20)
        assert settings(ours) == pytest.approx(settings(theirs), rel=1e-9)
        theirs.step()
        scheduler.step()


def test_triangle_by_hand():
    rates = [schedule.get("triangle")(step, 100, 10.0) for step in (0, 23, 100)]
    assert rates == pytest.approx([2.0, 10.0, 0.7])
    assert schedule.get("triangle")(11.5, 100, 10.0) == pytest.approx(6.0)
    assert schedule.get("triangle")(0, 1, 1.0) <= 1.0


def test_constant_leaves_the_optimizer_alone():
    sgd = optimizer("sgd", 0.1)
    for step in range(5):
        set_rate(sgd, Recipe(lr=0.5), step, 5)
        assert settings(sgd) == (0.1, 0.9)
    assert schedule.get("constant")(3, 5, 0.5) == 0.5
    assert momentum(schedule.get("cosine"), 3, 5) is None


@pytest.mark.parametrize("total", [1, 2, 3, 4])
def test_one_cycle_of_very_few_steps_stays_within_its_rates(total):
    """torch divides by zero or looks beyond its phases here; a run of one batch must still train."""
    rates = [schedule.get("one-cycle")(step, total, 1.0) for step in range(total)]
    assert all(1 / 25e4 * 0.999 <= rate <= 1 for rate in rates)
    assert any(rate >= 1 / 25 for rate in rates)


def test_plain_sgd_gets_no_momentum_from_one_cycle():
    sgd = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    set_rate(sgd, Recipe(lr=0.1, epochs=1, schedule="one-cycle", optimizer="sgd"), 3, 10)
    assert sgd.param_groups[0]["momentum"] == 0


def test_warmup_cosine_rises_and_falls():
    rates = [schedule.get("warmup-cosine")(step, 100, 1.0) for step in range(100)]
    assert rates[:5] == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6])
    assert rates[5] == 1.0
    assert all(a > b for a, b in pairwise(rates[5:]))
    assert rates[-1] < 0.001
    assert schedule.get("warmup-cosine")(0, 1, 1.0) > 0  # a run of one batch


def test_step_divides_by_ten_twice():
    rates = [schedule.get("step")(step, 8, 1.0) for step in range(8)]
    assert rates == pytest.approx([1] * 4 + [0.1] * 2 + [0.01] * 2)

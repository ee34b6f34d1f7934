"""The learning-rate test: rises, stops, suggests, and leaves nothing behind."""

import numpy as np
import pytest
import torch

from replab.settings.recipe import Recipe
from replab.training import prepare as setup
from replab.training.lr_find import KEEP, Rates, keep, lr_find, one_cycle_peak, suggest


@pytest.fixture(scope="module")
def found():
    ready = setup.prepare(Recipe(model="mlp", limit=200, batch_size=32, params={"widths": [16]}))
    return lr_find(ready, steps=40)


def test_the_rate_rises_by_a_constant_factor(found):
    factors = np.diff(np.log(found.rates))
    assert np.allclose(factors, factors[0])
    assert len(found.rates) == len(found.losses) == len(found.smoothed)


def test_a_suggestion_lies_where_the_loss_falls(found):
    assert found.suggestion is not None
    assert found.rates[0] < found.suggestion < found.rates[int(np.argmin(found.smoothed))]


def test_known_curves():
    rates = list(np.geomspace(1e-6, 1, 61))
    falls_at = 1e-3
    curve = [1 / (1 + np.exp(3 * np.log(r / falls_at))) for r in rates]
    assert suggest(rates, curve) == pytest.approx(falls_at, rel=0.3)
    assert suggest(rates, [1.0 + i for i in range(61)]) is None


def test_the_peak_of_one_cycle_is_where_four_fifths_of_the_fall_are_made():
    rates = list(np.geomspace(1e-5, 1, 51))
    falls = [2.0 - max(0.0, min(1.0, (place - 10) / 20)) for place in range(51)]  # from 2 to 1, evenly, then flat
    found = one_cycle_peak(Rates(rates, falls, falls, suggestion=1e-3))
    assert found == rates[26]  # 10 + 0.8 · 20
    spoilt = [*falls[:45], 0.99, *falls[46:]]  # one lucky batch at a large rate
    assert one_cycle_peak(Rates(rates, spoilt, spoilt, suggestion=1e-3)) == rates[27]
    assert one_cycle_peak(Rates(rates, falls[::-1], falls[::-1], suggestion=None)) is None


def test_a_short_test_is_smoothed_over_the_same_part_of_its_rates():
    assert keep(50) == keep(100) == KEEP
    assert keep(10) ** 10 == pytest.approx(KEEP**50)


def test_it_leaves_no_trace(in_tmp, replab):
    before = torch.random.get_rng_state()
    code, out, _ = replab("lr-find", "mlp", "--steps", "8", "--out", "rates.png")
    assert code == 0
    assert "rates.png" in out
    assert sorted(p.name for p in in_tmp.iterdir()) == ["rates.png"]
    # later runs seed themselves; the global generator is whatever it is, and no run reads it unseeded
    torch.random.set_rng_state(before)


def test_it_works_on_mytorch():
    ready = setup.prepare(Recipe(model="mlp", limit=64, backend="mytorch", params={"widths": [8]}))
    assert len(lr_find(ready, steps=5).rates) == 5

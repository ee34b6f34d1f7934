"""The verdict on made-up numbers with known answers, and its false alarms by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from replab.records.seeds import Summary, summarise
from replab.replication.verdict import judge, word_and_reason

# n = 4, s = 0.2: t(0.95, 3) = 2.3534, standard error 0.1, so the mean has to be 0.2353 inside the margin;
# t(0.975, 3) = 3.1824, so one more run is expected within 3.1824 · 0.2 · √1.25 = 0.7116
FOUR = Summary(90.0, 0.2, 4)


@pytest.mark.parametrize(
    ("published", "margin", "higher_is_better", "word"),
    [
        (90.0, 0.24, True, "holds"),
        (90.0, 0.23, True, "compatible"),  # the margin is narrower than what four seeds can show
        (90.26, 0.5, True, "holds"),
        (90.27, 0.5, True, "compatible"),
        (90.71, 0.5, True, "compatible"),
        (90.72, 0.5, True, "short"),
        (89.28, 0.5, True, "better"),
        (90.72, 0.5, False, "better"),  # a loss below the published one
        (89.28, 0.5, False, "short"),
        (90.72, 0.75, True, "cannot tell"),  # outside of what is expected, inside the margin, shown to be neither
        (90.0, 0.17, True, "cannot tell"),  # 0.7116 is more than four margins
    ],
)
def test_judging(published, margin, higher_is_better, word):
    assert judge(published, FOUR, margin, higher_is_better)[0] == word


@pytest.mark.parametrize(
    ("published", "bound", "word"),
    [
        (89.76, "above", "holds"),  # t(0.95, 3) · 0.1 = 0.2353 above it
        (89.77, "above", "compatible"),
        (50.0, "above", "holds"),  # far above is what "above" says
        (90.52, "above", "compatible"),  # 2.3534 · 0.2 · √1.25 = 0.5262: one side
        (90.53, "above", "short"),
        (90.24, "below", "holds"),
        (89.47, "below", "short"),
    ],
)
def test_a_published_bound_is_judged_on_its_own_side(published, bound, word):
    assert judge(published, FOUR, 0.5, bound=bound)[0] == word


def test_the_test_is_said():
    assert judge(90.0, FOUR, 0.5) == ("holds", "within the margin, p = 0.0077")
    assert judge(91.0, FOUR, 0.5) == ("short", "95 % of further runs are expected from 89.288 to 90.712")
    assert judge(89.0, FOUR, 0.5, bound="above") == ("holds", "one-sided p = 0.0011")


def test_the_windows_that_were_too_wide_cannot_tell():
    """lab9/mlp4, five seeds: 32.09 ± 7.49 against 38.9, of which the two-standard-errors rule said: holds."""
    assert judge(38.9, Summary(32.09, 7.49, 5), 1.0)[0] == "cannot tell"


def test_one_seed_or_other_epochs_are_an_indication():
    assert word_and_reason(98.27, summarise([98.0], [0.14]), 0.2, True) == ("indication", "one seed, needs two or more")
    assert word_and_reason(90.0, FOUR, 0.5, True, epochs=(2, 30)) == ("indication", "2 of 30 epochs")


def test_what_cannot_be_compared_says_why():
    on = ("cifar10-jpeg", "cifar10")
    other = "on cifar10-jpeg, not cifar10"
    assert word_and_reason(90.0, FOUR, 0.5, True, data=on) == ("not comparable", other)
    assert word_and_reason(90.0, FOUR, 0.5, True, incomparable="training accuracy") == (
        "not comparable", "training accuracy")  # fmt: skip
    both = word_and_reason(90.0, summarise([1.0]), 0.5, True, data=on, incomparable="training accuracy")
    assert both == ("not comparable", f"training accuracy; {other}; one seed, needs two or more")
    assert word_and_reason(None, FOUR, 0.1, True) == ("never published", "")
    assert word_and_reason(90.1, None, 0.1, True, absent="no weights") == ("not run", "no weights")


@pytest.mark.parametrize("n", [2, 3, 5])
def test_false_alarms_are_at_five_per_cent(n):
    """The published number is one more draw of the same distribution, and no margin hides a difference."""
    draws = np.random.default_rng(n).normal(90.0, 0.3, size=(4000, n + 1))
    alarms = [judge(row[0], summarise(row[1:]), 0.0)[0] in ("better", "short") for row in draws]
    assert np.mean(alarms) == pytest.approx(0.05, abs=0.01)  # three standard errors


@pytest.mark.parametrize("n", [2, 3, 5])
def test_what_is_off_by_the_margin_is_said_to_hold_in_five_per_cent_at_most(n):
    draws = np.random.default_rng(n).normal(90.0, 0.3, size=(4000, n))
    held = [judge(91.0, summarise(row), 1.0)[0] == "holds" for row in draws]
    assert np.mean(held) < 0.06

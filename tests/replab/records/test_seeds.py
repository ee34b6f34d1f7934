"""Student's t against scipy and numbers worked out by hand; false alarms, power and coverage by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from replab.records import seeds
from replab.records.seeds import Difference, Summary, summarise

A, B = [98.61, 98.92, 99.06], [98.04, 98.41, 98.58]


def test_summary_of_seeds():
    assert summarise([1.0, 2.0, 3.0], [3.0, 4.0, None]) == pytest.approx((2.0, 1.0, 3, math.sqrt(12.5)))
    assert summarise([1.0, 2.0, 3.0]).error == pytest.approx(1 / math.sqrt(3))
    alone = summarise([5.0], [0.4])
    assert alone == (5.0, None, 1, 0.4)
    assert alone.error == math.inf  # the images say nothing about other seeds


def test_welch_against_scipy():
    expected = stats.ttest_ind(A, B, equal_var=False)
    found = seeds.welch(summarise(A), summarise(B))
    assert found.freedom == pytest.approx(expected.df)
    assert seeds.p_differs(*found) == pytest.approx(expected.pvalue)
    assert found.interval() == pytest.approx(tuple(expected.confidence_interval(0.95)))
    with pytest.raises(ValueError, match="two seeds on either side, got 3 and 1"):
        seeds.welch(summarise(A), summarise([1.0]))


def test_paired_against_scipy():
    expected = stats.ttest_rel(A, B)
    found = seeds.paired(dict(enumerate(A)), {**dict(enumerate(B)), 9: 0.0})  # 9 has no partner
    assert (found.freedom, seeds.p_differs(*found)) == pytest.approx((2, expected.pvalue))


def test_two_one_sided_tests_against_scipy():
    values = np.array([0.1, 0.15, 0.05, 0.2])
    one, margin = summarise(values), 0.3
    low = stats.ttest_1samp(values, -margin, alternative="greater").pvalue
    high = stats.ttest_1samp(values, margin, alternative="less").pvalue
    assert seeds.p_equivalent(one.mean, one.error, 3, margin) == pytest.approx(max(low, high))
    assert seeds.p_equivalent(0.4, 0.01, 3, margin) > 0.95
    assert seeds.p_equivalent(0.1, 0.0, 1, margin) == 0.0  # two equal seeds


def test_prediction_by_hand():
    # t(0.975, 2) = 4.3027; 4.3027 · 0.5 · √(4/3) = 2.4841
    assert seeds.prediction(Summary(0.0, 0.5, 3)) == pytest.approx(2.4841, abs=1e-4)
    assert seeds.prediction(Summary(0.0, None, 1)) == math.inf


def test_holm_by_hand():
    # sorted 0.01 · 3, 0.02 · 2, 0.04 · 1, never falling
    assert seeds.holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert seeds.holm([0.9, 0.8]) == [1.0, 1.0]
    assert seeds.holm([]) == []


def test_power_against_scipy():
    freedom, away = 4, seeds.noncentrality(4)
    critical = stats.t.ppf(0.975, freedom)
    assert stats.nct.sf(critical, freedom, away) == pytest.approx(0.8, abs=1e-6)
    assert Difference(0.0, 0.1, 4).detectable() == pytest.approx(0.1 * away)


def test_seeds_to_see_a_difference():
    # the textbook's two groups, difference of one standard deviation, 80 % power at 5 %: 17 in each
    assert seeds.seeds_to_see(1.0, 1.0) == 17
    assert seeds.seeds_to_see(0.5, 1.0) in range(63, 69)  # the textbook: 64; steps above 50 are coarser
    assert seeds.seeds_to_see(100.0, 1.0) == 2
    with pytest.raises(ValueError, match="above 0, got 0"):
        seeds.seeds_to_see(0.0, 1.0)


def test_superiority_counts_pairs():
    assert seeds.superiority([3, 4], [1, 2]) == 1.0
    assert seeds.superiority([1, 2], [2, 3]) == 0.125  # of four pairs one is a tie


def test_bootstrap_has_both_sources_of_chance():
    random = np.random.default_rng(0)
    right = random.random((5, 400)) < 0.8
    low, high = seeds.bootstrap(right, draws=500)
    assert low < right.mean() < high
    same = np.repeat(right[:1], 5, axis=0)  # no spread over seeds: the images alone, as Wilson's interval has it
    low, high = seeds.bootstrap(same, draws=2000)
    assert high - low == pytest.approx(2 * 1.96 * math.sqrt(same.mean() * (1 - same.mean()) / 400), rel=0.1)
    apart = np.stack([np.ones(400, bool), np.zeros(400, bool)])  # no spread over images: the seeds alone
    assert seeds.bootstrap(apart, draws=200) == (0.0, 1.0)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_false_alarms_of_a_difference_are_at_the_level(n):
    """Both groups from one distribution. Welch at n = 2 is known to be on the safe side."""
    draws = np.random.default_rng(n).normal(size=(4000, 2, n))
    alarms = [seeds.p_differs(*seeds.welch(summarise(a), summarise(b))) < 0.05 for a, b in draws]
    assert (0.015 if n == 2 else 0.03) < np.mean(alarms) < 0.06

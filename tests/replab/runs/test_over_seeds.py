"""Groups of seeds: worked-out numbers, and the commands that make them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from replab import several
from replab.records.seeds import summarise
from replab.records.statistics import mcnemar, mcnemar_detectable
from replab.runs import over_seeds
from replab.runs.over_seeds import Group

TINY = ("--limit", 120, "--lr", 1e-3, "--epochs", 1, "--quiet")
A, B = {1: 91.0, 2: 91.4, 3: 91.2}, {1: 90.0, 2: 90.6, 3: 90.3}


def group(name, values, interval=(90.0, 92.0)):
    return Group(name, values, summarise(list(values.values()), [0.3] * len(values)), interval)


def test_lines_give_mean_spread_images_and_the_comparison():
    (_, one), (_, two), (pair, text) = over_seeds.lines([group("a", A), group("b", B, None)])
    assert one == "91.20 ± 0.20 % over 3 seeds; drawing test images: 0.30; 95 % of both 90.00 to 92.00"
    assert "95 %" not in two
    assert pair == "a over b"
    expected = stats.ttest_ind(list(A.values()), list(B.values()), equal_var=False)
    low, high = expected.confidence_interval()
    assert text == (
        f"+0.90 points, 95 % interval {low:+.2f} to {high:+.2f}, Welch's p = {expected.pvalue:.2g} (Holm),"
        " P(a > b) = 1.00"
    )


def test_what_is_within_noise_says_what_it_would_have_seen():
    text = over_seeds.lines([group("a", A), group("b", {s: v + 0.8 for s, v in B.items()})])[2][1]
    assert text.endswith("points would have been seen with 80 % power")
    alone = over_seeds.lines([group("a", A), group("b", {1: 90.0})])
    assert len(alone) == 2  # one seed is compared with nothing


def test_the_power_of_mcnemar_by_simulation():
    """Models that differ by the detectable amount are told apart in about 80 % of draws."""
    random, n, apart = np.random.default_rng(0), 2000, 0.1
    gap = mcnemar_detectable(np.arange(n) < n * apart, np.zeros(n, bool))
    only_a, only_b = (apart + gap) / 2, (apart - gap) / 2
    seen = []
    for u in random.random((300, n)):
        seen.append(mcnemar(u < only_a, (u >= only_a) & (u < only_a + only_b)) < 0.05)
    assert np.mean(seen) == pytest.approx(0.8, abs=0.07)


def test_run_and_compare_with_seeds(replab, in_tmp):
    code, out, _ = replab("run", "mlp", "--seeds", 2, "--seed", 5, *TINY)
    assert code == 0
    assert "% over 2 seeds; drawing test images:" in out
    assert "A seed redraws" in out
    assert "figure: " in out
    code, out, _ = replab("compare", "mlp", "fcn", "--seeds", 2, *TINY)
    assert code == 0
    assert " over " in out
    assert "Welch's p" in out


def test_runs_of_one_recipe_are_one_group(tmp_path):
    runs = several.run_seeds(["mlp"], 2, data="digits", lr=1e-3, epochs=1, seed=5, runs=tmp_path, quiet=True)
    (found,) = over_seeds.groups(runs)
    assert list(found.accuracies) == [5, 6]
    assert found.interval is not None  # both were tested on the same images
    assert found.interval[0] < found.summary.mean < found.interval[1]

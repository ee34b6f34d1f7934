"""Groups of seeds: worked-out numbers, and the commands that make them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats

from replab import several
from replab.figures.seeds import draw_seeds
from replab.records.seeds import summarise
from replab.records.statistics import mcnemar, mcnemar_detectable
from replab.report import seeds as report
from replab.report import write
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


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Two models of two seeds each, by the command line's own path."""
    runs, settings = tmp_path_factory.mktemp("seeds"), {"data": "digits", "lr": 1e-3, "epochs": 2, "seed": 5}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "draw", lambda *args: [])  # pictures of single runs have their own tests
        return several.run_seeds(["mlp", "fcn"], 2, **settings, runs=runs, quiet=True, workers=1)


def test_runs_of_one_recipe_are_one_group(compared):
    found = over_seeds.groups(compared)
    assert {g.name for g in found} == {"mlp", "fcn"}
    assert found[0].summary.mean > found[1].summary.mean
    for one in found:
        assert list(one.values) == [5, 6]
        assert one.interval is not None  # both were tested on the same images
        assert one.interval[0] < one.summary.mean < one.interval[1]
    assert over_seeds.redrawn(compared).endswith("the test images stay the same.")


def test_one_report_of_all_seeds(compared):
    folder = report.write(compared)
    assert folder.parent == compared[0].folder.parent / "groups"
    text, page = ((folder / name).read_text() for name in ("report.md", "report.html"))
    for one in over_seeds.groups(compared):  # the two kinds of chance have columns of their own
        mean, spread, _, images = one.summary
        assert f"| {one.name} | 2 | {mean:.2f} | {spread:.2f} | {images:.2f} | {one.interval[0]:.2f} to " in text
    for said in ("A seed redraws", "Welch&#39;s p", "standard deviation over seeds", *(run.id for run in compared)):
        assert said in page
        assert said.replace("&#39;", "'") in text
    assert "![seeds](seeds.png)" in text
    assert page.count("data:image/png") + page.count("data:image/webp") == 1
    assert "<script" not in page
    assert (folder / "seeds.png").read_bytes()[:4] == b"\x89PNG"


def test_groups_are_listed_and_reported_again(compared, replab):
    home = compared[0].folder.parent
    folder = report.write(compared)
    (folder / "report.md").unlink()
    code, out, _ = replab("runs", "--runs", home)
    assert code == 0
    assert f"{folder.name}  {', '.join(g.name for g in over_seeds.groups(compared))} on digits, 2 seeds: " in out
    code, out, _ = replab("report", folder.name, "--runs", home)
    assert code == 0
    assert "mlp over fcn" in out or "fcn over mlp" in out
    assert (folder / "report.md").is_file()


def test_a_spoiled_group_is_named_and_harms_no_list(compared, replab, refuses, tmp_path):
    spoiled = tmp_path / "groups" / "odd"
    spoiled.mkdir(parents=True)
    (spoiled / "group.json").write_text('{"runs": 3}')
    assert report.listed(tmp_path)[0][1].startswith("damaged: ")
    assert "odd/group.json is not replab's (it names no runs)" in refuses("report", "odd", runs=tmp_path)


def test_losses_are_compared_where_there_is_no_accuracy():
    a, b = ({s: v / 100 for s, v in each.items()} for each in (B, A))
    one, two = (Group(n, v, summarise(list(v.values())), None, "loss") for n, v in (("a", a), ("b", b)))
    (_, first), _, (pair, text) = over_seeds.lines([one, two])
    assert first == "0.9030 ± 0.0030 over 3 seeds"
    assert (pair, text[:15]) == ("a over b", "-0.0090 of loss")
    assert text.endswith("P(a < b) = 1.00")


def test_the_command_says_mean_spread_and_where_the_report_is(replab, in_tmp, monkeypatch):
    monkeypatch.setattr(write, "draw", lambda *args: [])
    code, out, _ = replab("run", "mlp", "--workers", 1, "--seeds", 2, "--seed", 5, *TINY)
    assert code == 0
    assert "% over 2 seeds; drawing test images:" in out
    assert "here also which images are used (--limit)" in out
    assert re.search(r"^report: .*groups.*report.md, and report.html for a browser$", out, re.MULTILINE)
    assert out.count("figure: ") == 1


def test_the_figure_of_seeds():
    rows = [[{"epoch": e, "test_accuracy": 0.5 + 0.1 * e + 0.01 * s} for e in (1, 2, 3)] for s in (0, 1)]
    group = {"name": "a", "what": "accuracy", "values": [80.0, 81.0], "mean": 80.5, "spread": 0.7,
             "interval": (79.0, 82.0), "epochs": rows}  # fmt: skip
    other = {**group, "name": "b", "spread": None, "interval": None, "values": [70.0], "mean": 70.0, "epochs": rows[:1]}
    dots, curves = draw_seeds([group, other]).axes
    assert sorted(x for line in dots.lines for x in line.get_xdata() if line.get_marker() == "o") == [70.0, 80.0, 81.0]
    means = [list(line.get_ydata()) for line in curves.lines]
    assert means[0] == pytest.approx([60.5, 70.5, 80.5])
    assert len(curves.collections) == 2  # from the least to the largest seed
    assert draw_seeds([]) is not None

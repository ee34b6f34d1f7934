"""Comparison of runs: order, Pareto front, paired tests with a known answer."""

import csv
import io
import shutil

import numpy as np
import pytest
from scipy import stats

from replab import api
from replab.errors import UnknownName
from replab.records.statistics import mcnemar, wilson
from replab.runs import compare as comparison


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [api.run(m, limit=120, lr=1e-3, epochs=e, runs=folder) for m, e in (("mlp", 3), ("fcn", 1), ("mlp", 1))]


def test_rows_are_sorted_and_say_who_is_best(runs):
    rows = comparison.table(runs)
    assert [r["accuracy"] for r in rows] == sorted((r["accuracy"] for r in rows), reverse=True)
    assert [r["best"] for r in rows].count(True) == 1
    assert rows[0]["best"]
    assert all(r["low"] <= r["accuracy"] <= r["high"] for r in rows)
    fastest = comparison.table(runs, sort="seconds")
    assert fastest[0]["seconds"] == min(r["seconds"] for r in rows)
    assert fastest[0]["pareto"]


def test_the_p_values_of_a_table_are_one_family(runs):
    """McNemar's p of each run against the best one, by scipy's binomial test, and Holm's correction by hand."""
    best, *others = comparison.table(runs)
    right = {run.id: run.values.answers.right for run in runs}
    each = []
    for row in others:
        a, b = right[best["run"]], right[row["run"]]
        each.append(stats.binomtest(int((a & ~b).sum()), int((a ^ b).sum())).pvalue)
    low, high = sorted(each)
    expected = {low: min(1.0, 2 * low), high: max(min(1.0, 2 * low), high)}
    assert [row["p"] for row in others] == pytest.approx([expected[p] for p in each])
    assert "not of two architectures" in comparison.LEGEND


def test_an_unknown_column_is_refused(runs):
    with pytest.raises(UnknownName, match="accuracy"):
        comparison.table(runs, sort="acuracy")


def test_the_front_is_what_no_other_run_beats():
    """Against the definition, pair by pair: as good in accuracy and time, and better in one."""
    rng = np.random.default_rng(0)
    rows = [{"accuracy": float(a) / 8, "seconds": float(s)} for a, s in rng.integers(0, 8, (60, 2))]
    rows.append({"accuracy": None, "seconds": 0.0})

    def beats(a, b):
        if a["accuracy"] is None or b["accuracy"] is None:
            return False
        as_good = a["accuracy"] >= b["accuracy"] and a["seconds"] <= b["seconds"]
        return as_good and (a["accuracy"], a["seconds"]) != (b["accuracy"], b["seconds"])

    comparison.mark_front(rows)
    assert [r["pareto"] for r in rows] == [not any(beats(other, r) for other in rows) for r in rows]


def test_a_notebook_shows_runs_as_a_table(runs):
    shown = comparison.RunList(runs)._repr_markdown_().splitlines()
    assert shown[0].startswith("| model | data | accuracy % | 95 % |")
    assert len(shown) == 2 + len(runs)
    assert api.all_runs(runs[0].folder.parent)._repr_markdown_().splitlines()[0] == shown[0]


def test_csv_reads_back(runs):
    rows = list(csv.DictReader(io.StringIO(comparison.to_csv(comparison.table(runs)))))
    assert {r["run"] for r in rows} == {r.id for r in runs}
    assert {float(r["accuracy"]) for r in rows} == {r.metrics["accuracy"] for r in runs}


def test_pictures(runs, tmp_path):
    paths = comparison.draw(runs, tmp_path / "new")
    assert [p.name for p in paths] == ["comparison.png", "accuracy-against-time.png"]
    assert all(p.stat().st_size > 5000 for p in paths)
    assert len(set(comparison.unique_names(runs))) >= 2


def test_other_images_are_another_table_and_other_pictures(runs, tmp_path):
    """--limit makes another set of images: one best and one front for each, and names that tell them apart."""
    other = api.run("mlp", limit=60, lr=1e-3, epochs=1, runs=tmp_path / "runs", quiet=True)
    rows = comparison.table([*runs, other])
    best = [r["data"] for r in rows if r["best"]]
    assert sorted(best) == ["digits (120 images)", "digits (60 images)"]
    assert {r["data"] for r in rows} == set(best)
    paths = comparison.draw([*runs, other], tmp_path / "pictures")
    assert [p.name for p in paths] == [
        f"{kind}-digits-{n}-images.png" for n in (120, 60) for kind in ("comparison", "accuracy-against-time")
    ]
    assert {r["data"] for r in comparison.table(runs)} == {"digits"}


def test_names_of_data_tell_images_apart():
    one = {"data": "pets", "fingerprint": "a", "train_images": 8, "height": 16, "width": 16, "classes": ["cat", "dog"]}
    assert comparison.data_names([one]) == {"a": "pets"}
    larger = {**one, "fingerprint": "b", "height": 32, "width": 32}
    assert comparison.data_names([one, larger]) == {
        "a": "pets (8 images of 16x16, 2 classes)", "b": "pets (8 images of 32x32, 2 classes)"
    }  # fmt: skip
    assert comparison.data_names([one, {**one, "fingerprint": "c"}]) == {
        "a": "pets (8 images, a)",
        "c": "pets (8 images, c)",
    }
    assert comparison.file_name("/home/a/pets.zip") == "pets"


def test_mcnemar_known_answers():
    """10 images right in one only, split 10 to 0: 2 * 0.5**10. Split 5 to 5: no evidence at all."""
    a, b = np.array([True] * 10 + [False] * 5), np.array([False] * 10 + [False] * 5)
    assert mcnemar(a, b) == pytest.approx(2 * 0.5**10)
    half = np.array([True] * 5 + [False] * 5)
    assert mcnemar(half, ~half) == 1.0
    assert mcnemar(half, half) == 1.0


def test_mcnemar_agrees_with_the_binomial_test():
    from scipy.stats import binomtest

    rng = np.random.default_rng(0)
    for share in (0.5, 0.6, 0.8):
        a, b = rng.random(300) < share, rng.random(300) < 0.5
        only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
        assert mcnemar(a, b) == pytest.approx(binomtest(only_a, only_a + only_b).pvalue, rel=1e-6)


def test_wilson_known_answer():
    low, high = wilson(90, 100)
    assert (round(low, 4), round(high, 4)) == (0.8256, 0.9448)
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(10, 10)[1] == pytest.approx(1.0)


def test_the_commands(runs, replab, in_tmp):
    folder = runs[0].folder.parent
    code, out, _ = replab("leaderboard", "--runs", folder, "--model", "fcn", "--figures", "pictures")
    assert code == 0
    assert "fcn" in out
    assert "mlp" not in out.split("*")[0]
    assert (in_tmp / "pictures" / "comparison.png").is_file()
    code, out, _ = replab("leaderboard", "--runs", folder, "--csv")
    assert out.startswith("model,data,accuracy")
    code, out, _ = replab("leaderboard", "--runs", in_tmp / "none")
    assert code == 0
    assert "no finished runs" in out
    for words, says in (
        (["--data", "digts"], "no data set among the finished runs named 'digts'. Did you mean 'digits'?"),
        (
            ["--model", "cnn"],
            "no model among the finished runs named 'cnn'. Did you mean 'fcn'? (finished runs have fcn, mlp)",
        ),
    ):
        code, out, err = replab("leaderboard", "--runs", folder, *words)
        assert (code, out) == (2, "")
        assert err.startswith(f"replab: {says}")


def test_a_broken_run_is_left_out_and_named(a_run, replab):
    runs = a_run.folder.parent
    broken = runs / "20260101-000000-mlp-digits"
    shutil.copytree(a_run.folder, broken)
    (broken / "metrics.json").write_text("{")
    code, out, err = replab("leaderboard", "--runs", runs)
    assert code == 0
    assert a_run.id in out
    assert err.startswith("left out: ")
    assert broken.name in err

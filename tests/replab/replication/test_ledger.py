"""The verdicts on made-up numbers with known answers, claims, and the ledger's files against their raw rows."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
from pathlib import Path

import pytest

from replab.errors import RunError
from replab.replication import claims, ledger, ledger_text, results
from replab.replication.claims import Found
from replab.replication.entry import FIXED, SEARCH, Entry, identity
from replab.replication.packs import Check, Claim, parse, published
from replab.replication.verdict import Summary, judge, summarise, word_and_reason
from replab.settings.recipe import Recipe

ROOT = Path(__file__).parents[3]
KNOWN = parse(
    {
        "lab": """
[source]
title = "Lab"
tolerance = { accuracy = 0.2, loss = 0.1 }
[source.recipe]
data = "mnist"
lr = 0.1
epochs = 10
[[row]]
id = "lab/a"
recipe = { model = "mlp" }
figures = [
  { measure = "best_test_accuracy", published = 90.0 },
  { measure = "test_accuracy", published = 90.0, right = true },
  { measure = "test_loss", published = 0.5 },
]
[[row]]
id = "lab/b"
recipe = { model = "cnn" }
figures = [{ measure = "test_accuracy", published = 80.0, incomparable = "it was the training accuracy" }]
[[row]]
id = "lab/c"
not_run = "no weights"
published = "pictures"
[[claim]]
id = "lab/claim"
words = "a beats b"
control = "b"
checks = [{ runs = ["lab/a"], control = ["lab/b"], expect = "higher" }]
"""
    }
)


def entry(name="lab/a", accuracy=90.0, seed=1, **changes) -> Entry:
    values = {"test_accuracy": [accuracy, 0.3], "best_test_accuracy": [accuracy + 1, 0.3], "test_loss": [0.5, 0.01]}
    made = {"id": name, "way": FIXED, "seed": seed, "values": values, "data": "mnist", "epochs": 10, "lr": 0.1,
            "minutes": 2.0, "hardware": "a CPU, 2 threads", "commit": "abc", "command": f"replab replicate {name}",
            "recipe": "0"}  # fmt: skip
    return Entry(**{**made, **changes})


# -- verdicts --------------------------------------------------------------------------------------------------------


def test_summary_of_seeds():
    assert summarise([1.0, 2.0, 3.0], [None] * 3) == pytest.approx((2.0, 1.0, 1 / 3**0.5, 3))
    assert summarise([5.0], [0.4]) == (5.0, None, 0.4, 1)  # the spread is unknown: the error within the run
    assert summarise([5.0], [None]) == (5.0, None, 0.0, 1)


@pytest.mark.parametrize(
    ("published", "higher_is_better", "word"),
    [
        (90.0, True, "holds"),
        (90.8, True, "holds"),  # 2 · 0.25 + 0.3, to the edge
        (89.2, True, "holds"),
        (90.81, True, "short"),
        (89.19, True, "better"),
        (90.81, False, "better"),  # a loss below the published one
        (89.19, False, "short"),
    ],
)
def test_judging(published, higher_is_better, word):
    assert judge(published, Summary(90.0, 0.5, 0.25, 4), 0.3, higher_is_better) == word


def test_one_seed_is_judged_by_its_test_images_and_says_so():
    measured = summarise([98.0], [0.14])
    assert word_and_reason(98.27, measured, 0.0, True) == ("holds", "n = 1")
    assert word_and_reason(98.29, measured, 0.0, True) == ("short", "n = 1")


def test_what_cannot_be_compared_says_why_and_what_the_numbers_say():
    seeds = summarise([90.0, 90.2], [0.3, 0.3])
    on = ("cifar10-jpeg", "cifar10")
    assert word_and_reason(90.1, seeds, 0.1, True, data=on) == (
        "not comparable", "on cifar10-jpeg, not cifar10: by the numbers holds")  # fmt: skip
    assert word_and_reason(95.0, seeds, 0.1, True, data=on)[1].endswith("by the numbers short")
    assert word_and_reason(90.1, seeds, 0.1, True, incomparable="training accuracy") == (
        "not comparable", "training accuracy")  # fmt: skip
    assert word_and_reason(90.1, seeds, 0.1, True, data=on, incomparable="training accuracy") == (
        "not comparable", "training accuracy; on cifar10-jpeg, not cifar10")  # fmt: skip
    assert word_and_reason(90.1, seeds, 0.1, True, epochs=(2, 30)) == ("holds", "at 2 of 30 epochs")
    assert word_and_reason(None, seeds, 0.1, True) == ("never published", "")
    assert word_and_reason(90.1, None, 0.1, True, absent="no weights") == ("not run", "no weights")


# -- claims ----------------------------------------------------------------------------------------------------------

HIGHER = Check(("lab/a",), ("lab/b",), "higher")
CLAIM = Claim("lab/claim", "words", (HIGHER,), "b")


def lookup(**means):
    """Rows a, b … measured with a standard error of 0.1 each: a difference's noise is 2 · 0.1414."""
    return lambda row, measure: Found(Summary(means[row[-1]], 0.2, 0.1, 4), "mnist") if row[-1] in means else None


@pytest.mark.parametrize(
    ("check", "b", "word"),
    [
        (HIGHER, 89.0, "holds"),
        (HIGHER, 89.8, "within noise"),
        (HIGHER, 90.2, "within noise"),
        (HIGHER, 91.0, "does not hold"),
        (dataclasses.replace(HIGHER, margin=2.0), 89.0, "does not hold"),  # higher, but not by 2
        (dataclasses.replace(HIGHER, expect="lower"), 91.0, "holds"),
        (dataclasses.replace(HIGHER, expect="lower"), 89.0, "does not hold"),
        (dataclasses.replace(HIGHER, expect="within", margin=0.5), 90.4, "holds"),
        (dataclasses.replace(HIGHER, expect="within", margin=0.5), 90.6, "within noise"),
        (dataclasses.replace(HIGHER, expect="within", margin=0.5), 91.0, "does not hold"),
    ],
)
def test_claims_by_the_noise_of_the_difference(check, b, word):
    claim = dataclasses.replace(CLAIM, checks=(check,))
    assert claims.evaluate(claim, lookup(a=90.0, b=b)).verdict == word


def test_a_claim_holds_only_if_every_check_does():
    two = dataclasses.replace(CLAIM, checks=(HIGHER, Check(("lab/a",), ("lab/c",), "higher")))
    assert claims.evaluate(two, lookup(a=90.0, b=89.0, c=89.0)).verdict == "holds"
    assert claims.evaluate(two, lookup(a=90.0, b=89.0, c=90.0)).verdict == "within noise"
    assert claims.evaluate(two, lookup(a=90.0, b=90.0, c=91.0)).verdict == "does not hold"
    missing = claims.evaluate(two, lookup(a=90.0, b=89.0))
    assert missing == ("not run", "needs lab/c")


def test_a_claim_shows_what_it_rests_on_and_never_mixes_data():
    judged = claims.evaluate(CLAIM, lookup(a=90.0, b=89.0))
    assert "lab/a against lab/b: +1.00 ± 0.28 % test accuracy" in judged.reason
    mixed = {"lab/a": Found(Summary(90, 1, 1, 2), "cifar10"), "lab/b": Found(Summary(80, 1, 1, 2), "cifar10-jpeg")}
    assert claims.evaluate(CLAIM, lambda row, measure: mixed[row]).verdict == "not run"
    short = lambda row, measure: Found(Summary(90, 1, 1, 2), "mnist", "1 of 10 epochs")  # noqa: E731
    assert "(1 of 10 epochs)" in claims.evaluate(CLAIM, short).reason


# -- the ledger ------------------------------------------------------------------------------------------------------


def test_lines_put_published_beside_measured():
    made = [entry(seed=s, accuracy=a, command=f"replicate --seeds {s}") for s, a in ((1, 89.9), (2, 90.1))]
    best, last, loss, other, absent = ledger.lines(KNOWN, [*made, entry("lab/b", 80.0)])
    assert (best["verdict"], best["way"], best["n"]) == ("better", "published", 2)
    assert (last["verdict"], last["way"]) == ("holds", "right")
    assert last["command"] == "replicate --seeds 2"  # makes both
    assert last["measured"] == pytest.approx(90.0)
    assert last["spread"] == pytest.approx(0.1414, abs=1e-4)
    assert loss["verdict"] == "holds"
    assert (other["verdict"], other["reason"]) == ("not comparable", "it was the training accuracy; n = 1")
    assert (absent["verdict"], absent["reason"], absent["published"]) == ("not run", "no weights", "pictures")


def test_the_fullest_measurement_stands_for_a_row():
    short = [entry(seed=s, epochs=2, accuracy=50.0) for s in (1, 2, 3)]
    assert "at 2 of 10 epochs" in ledger.lines(KNOWN, short)[0]["reason"]
    full = ledger.lines(KNOWN, [entry(), *short])
    assert full[1]["measured"] == 90.0
    assert "epochs" not in full[1]["reason"]
    again = [entry(accuracy=10.0), entry(accuracy=90.0)]  # the same seed: the latest counts, and is one
    assert (ledger.lines(KNOWN, again)[1]["measured"], ledger.lines(KNOWN, again)[1]["n"]) == (90.0, 1)


def test_variants_and_whole_searches_are_lines_of_their_own():
    made = [
        entry(),
        entry(data="fashion-mnist"),
        entry(way=SEARCH, epochs=7, seed=1),
        entry(way=SEARCH, epochs=9, seed=2),
    ]
    lines = [line for line in ledger.lines(KNOWN, made) if line["figure"].startswith("test accuracy, last")]
    assert [(line["settings"], line["data"], line["n"]) for line in lines[:3]] == [
        (FIXED, "mnist", 1), (FIXED, "fashion-mnist", 1), (SEARCH, "mnist", 2)]  # fmt: skip
    assert lines[1]["verdict"] == "not comparable"
    assert lines[2]["epochs"] == "7 to 9"
    assert "of 10 epochs" not in lines[2]["reason"]


def test_claims_are_judged_from_the_rows():
    assert ledger.claim_lines(KNOWN, [entry()])[0]["verdict"] == "not run"
    judged = ledger.claim_lines(KNOWN, [entry(), entry("lab/b", 80.0)])[0]
    assert (judged["verdict"], judged["data"]) == ("holds", "mnist")


def test_a_claim_is_judged_on_each_data_set_that_has_all_its_rows():
    mnist = [entry(), entry("lab/b", 95.0)]
    fashion = [entry(data="fashion-mnist"), entry("lab/b", 80.0, data="fashion-mnist")]
    cifar = [entry(data="cifar10")]  # half of it: says nothing, hides nothing
    judged = ledger.claim_lines(KNOWN, [*cifar, *mnist, *fashion])
    assert {(line["data"], line["verdict"]) for line in judged} == {
        ("mnist", "does not hold"),
        ("fashion-mnist", "holds"),
    }


def test_fewer_or_smaller_images_are_another_data_set():
    small = entry(size=16, limit=5000)
    assert {line["data"] for line in ledger.lines(KNOWN, [small]) if line["n"]} == {"5,000 images of mnist at 16x16"}
    judged = next(line for line in ledger.lines(KNOWN, [small]) if line["n"])
    assert judged["verdict"] == "not comparable"
    assert "on 5,000 images of mnist at 16x16, not mnist" in judged["reason"]
    assert ledger.claim_lines(KNOWN, [small, entry("lab/b", 80.0)])[0]["verdict"] == "not run"


def test_a_control_may_be_another_measure_of_the_same_run():
    """The label of a CVAE: the right way against the published rule, both of notes/cvae."""
    claim = published().claims["notes/claim-cvae-label"]

    def judged(right, rule):
        values = {"test_accuracy": right, "batch_total_accuracy": rule}
        return claims.evaluate(claim, lambda row, m: claims.Found(Summary(values[m], None, 0.3, 1), "mnist"))

    assert judged(10.4, 10.2).verdict == "holds"
    found = judged(92.0, 10.2)
    assert found.verdict == "does not hold"
    assert "notes/cvae against itself: +81.80 ± 0.85 %" in found.reason
    assert "(92.00) over class of a batch's least total loss (10.20)" in found.reason
    assert claims.evaluate(claim, lambda row, measure: None).reason == "needs notes/cvae"


def test_files_are_generated_from_the_raw_rows(tmp_path):
    folder = tmp_path / "results"
    (tmp_path / "README.md").write_text("before\n<!-- ledger -->\nstale\n<!-- /ledger -->\nafter\n")
    results.append(folder, entry(), KNOWN)
    results.append(folder, entry(seed=2, accuracy=90.2), KNOWN)
    kept = results.read(folder)
    assert [e.seed for e in kept] == [1, 2]
    assert (folder / "LEDGER.md").read_text() == ledger_text.as_markdown(KNOWN, kept)
    text = (folder / "ledger.csv").read_text()
    rows = list(csv.DictReader(io.StringIO(text.split("\n", 1)[1])))
    wanted = {"measured", "n", "spread", "data", "minutes", "hardware", "commit", "command", "verdict"}
    assert wanted <= set(rows[0])
    assert float(rows[1]["measured"]) == pytest.approx(90.1)
    assert rows[-1]["id"] == "lab/claim"
    readme = (tmp_path / "README.md").read_text()
    assert readme.startswith("before\n<!-- ledger -->\n| row |")
    assert readme.endswith("<!-- /ledger -->\nafter\n")
    assert "90.10 ± 0.14 % (n = 2)" in readme
    assert "stale" not in readme


def test_where_nothing_was_measured_the_rows_that_come_with_replab_are_shown(tmp_path):
    assert results.to_show(tmp_path / "results") == ROOT / "results"
    results.append(tmp_path / "results", entry(), KNOWN)
    assert results.to_show(tmp_path / "results") == tmp_path / "results"


def test_a_spoiled_raw_file_is_named(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"id": "lab/a"}\n')
    with pytest.raises(RunError, match=r"rows.jsonl is not what replab replicate wrote"):
        results.read(tmp_path)
    (tmp_path / "rows.jsonl").write_text("{")
    with pytest.raises(RunError, match=r"rows.jsonl"):
        results.read(tmp_path)


def test_identity_is_of_what_decides_the_numbers():
    recipe = Recipe(model="mlp", lr=0.1, epochs=2)
    assert identity(recipe) == identity(Recipe.from_toml(recipe.to_toml()))
    assert identity(recipe) == identity(recipe.replace(device="cpu"))
    assert identity(recipe.replace(data="here/set")) == identity(recipe.replace(data="there/set.zip"))
    changed = [recipe.replace(seed=1), recipe.replace(lr=0.2), recipe.replace(search={"trials": 3}),
               recipe.replace(params={"widths": [3]}), recipe.replace(data="mnist")]  # fmt: skip
    assert len({identity(r) for r in [recipe, *changed]}) == 6


# -- the committed ledger --------------------------------------------------------------------------------------------


def test_the_committed_ledger_is_what_its_rows_give():
    kept = results.read(ROOT / "results")
    for name, text in ledger_text.files(published(), kept).items():
        assert (ROOT / "results" / name).read_text() == text, f"results/{name}: replab replicate --ledger writes it"
    readme = (ROOT / "README.md").read_text()
    assert ledger_text.with_table(readme, ledger_text.readme_table(published(), kept)) == readme


def test_the_committed_rows_were_measured_with_todays_recipes():
    for kept in results.read(ROOT / "results"):
        row = published().rows[kept.id]
        recipe = row.recipe.replace(epochs=kept.epochs) if kept.way == FIXED else row.search_recipe()
        recipe = recipe.replace(seed=kept.seed, data=kept.data, size=kept.size or recipe.size, limit=kept.limit)
        assert identity(recipe) == kept.recipe, f"{kept.id} was changed after seed {kept.seed} was measured"
        assert not re.search(r"(^|[\s=])/|@", kept.hardware + " " + kept.command), json.dumps(kept.command)
        assert kept.command.startswith(f"replab replicate {kept.id} ")

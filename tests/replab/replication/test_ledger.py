"""The verdicts on made-up numbers with known answers, claims, and the ledger's files against their raw rows."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

from replab.errors import RunError
from replab.replication import claims, ledger, ledger_text, results
from replab.replication.claims import Found
from replab.replication.entry import FIXED, SEARCH, Entry, identity, packed, unpacked
from replab.replication.packs import Check, Claim, parse, published
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


# -- claims ----------------------------------------------------------------------------------------------------------

HIGHER = Check(("lab/a",), ("lab/b",), "higher")
CLAIM = Claim("lab/claim", "words", (HIGHER,), "b")
APART = (-0.2, 0.0, 0.0, 0.2)  # around a row's mean: spread 0.1633, standard error 0.0816


def lookup(seeds=APART, data="mnist", published_on="mnist", epochs=(None, None), **means):
    """Rows a, b … of four seeds: a difference has 6 degrees of freedom and an interval of ± 2.447 · 0.1155 = 0.2825."""

    def found(row, measure):
        name = row[-1]
        if name not in means:
            return None
        values = {seed: means[name] + away for seed, away in enumerate(seeds)}
        return Found(values, data, published_on, epochs)

    return found


def judged(claim, found):
    return claims.corrected([claims.evaluate(claim, found)])[0]


@pytest.mark.parametrize(
    ("check", "b", "word"),
    [
        (HIGHER, 89.71, "holds"),
        (HIGHER, 89.72, "within noise"),
        (HIGHER, 90.28, "within noise"),
        (HIGHER, 90.29, "does not hold"),
        (dataclasses.replace(HIGHER, margin=2.0), 89.0, "does not hold"),  # higher, but not by 2
        (dataclasses.replace(HIGHER, expect="lower"), 90.29, "holds"),
        (dataclasses.replace(HIGHER, expect="lower"), 89.71, "does not hold"),
        # within: t(0.95, 6) · 0.1155 = 0.2244 inside the margin is shown; 0.2825 outside of it is against
        (dataclasses.replace(HIGHER, expect="within", margin=0.5), 90.27, "holds"),
        (dataclasses.replace(HIGHER, expect="within", margin=0.5), 90.28, "within noise"),
        (dataclasses.replace(HIGHER, expect="within", margin=0.5), 90.78, "within noise"),
        (dataclasses.replace(HIGHER, expect="within", margin=0.5), 90.79, "does not hold"),
    ],
)
def test_claims_by_welchs_t(check, b, word):
    assert judged(dataclasses.replace(CLAIM, checks=(check,)), lookup(a=90.0, b=b)).verdict == word


def test_a_claim_holds_only_if_every_check_does():
    two = dataclasses.replace(CLAIM, checks=(HIGHER, Check(("lab/a",), ("lab/c",), "higher")))
    assert judged(two, lookup(a=90.0, b=89.0, c=89.0)).verdict == "holds"
    assert judged(two, lookup(a=90.0, b=89.0, c=90.0)).verdict == "within noise"
    assert judged(two, lookup(a=90.0, b=90.0, c=91.0)).verdict == "does not hold"
    missing = judged(two, lookup(a=90.0, b=89.0))
    assert (missing.verdict, missing.reason) == ("not run", "needs lab/c")


def test_a_claim_shows_what_it_rests_on_and_never_mixes_data():
    text = judged(CLAIM, lookup(a=90.0, b=89.0)).reason
    assert "lab/a against lab/b: +1.00 points test accuracy" in text
    assert "95 % interval +0.72 to +1.28" in text
    assert "P(A > B) = 1.00" in text
    noise = judged(CLAIM, lookup(a=90.0, b=90.0)).reason
    # noncentral t with 6 degrees of freedom: 80 % are above 2.447 when the true difference is 3.37 standard errors
    assert "a difference of 0.39 would have been seen with 80 % power" in noise
    mixed = {"lab/a": Found({1: 90.0}, "cifar10", "cifar10"), "lab/b": Found({1: 80.0}, "cifar10-jpeg", "cifar10")}
    assert judged(CLAIM, lambda row, measure: mixed[row]).verdict == "not run"


def test_a_claim_inherits_what_its_rows_lack():
    other = judged(CLAIM, lookup(data="mnist", published_on="cifar10", a=90.0, b=80.0))
    assert other.verdict == "not comparable"
    assert other.reason.startswith("on mnist, not cifar10; lab/a against lab/b: +10.00")
    short = judged(CLAIM, lookup(epochs=(1, 10), a=90.0, b=80.0))
    assert (short.verdict, short.reason[:15]) == ("indication", "1 of 10 epochs;")
    alone = judged(CLAIM, lookup(seeds=(0.0,), a=90.0, b=80.0))
    assert alone.verdict == "indication"
    assert "one seed, needs two or more" in alone.reason


def test_the_claims_of_a_pack_are_one_family():
    one = claims.evaluate(CLAIM, lookup(a=90.0, b=89.7))  # p = 0.041
    assert one.p == pytest.approx(0.041, abs=0.001)
    assert claims.corrected([one])[0].verdict == "holds"
    untested = claims.evaluate(CLAIM, lookup(a=90.0))
    pair = claims.corrected([one, untested, one])
    assert [j.verdict for j in pair] == ["within noise", "not run", "within noise"]
    assert pair[0].reason.endswith("Holm's p = 0.082 among 2 claims")


# -- the ledger ------------------------------------------------------------------------------------------------------


def test_lines_put_published_beside_measured():
    made = [entry(seed=s, accuracy=a, command=f"replicate --seeds {s}") for s, a in ((1, 89.99), (2, 90.01))]
    best, last, loss, other, absent = ledger.lines(KNOWN, [*made, entry("lab/b", 80.0)])
    assert (best["verdict"], best["way"], best["n"]) == ("better", "published", 2)
    assert (last["verdict"], last["way"]) == ("holds", "right")
    assert last["command"] == "replicate --seeds 2"  # makes both
    assert last["measured"] == pytest.approx(90.0)
    assert last["spread"] == pytest.approx(0.01414, abs=1e-5)
    assert last["images_error"] == pytest.approx(0.3)
    assert loss["verdict"] == "holds"
    assert (other["verdict"], other["reason"]) == (
        "not comparable", "it was the training accuracy; one seed, needs two or more")  # fmt: skip
    assert (absent["verdict"], absent["reason"], absent["published"]) == ("not run", "no weights", "pictures")


def test_the_fullest_measurement_stands_for_a_row():
    short = [entry(seed=s, epochs=2, accuracy=50.0) for s in (1, 2, 3)]
    assert "2 of 10 epochs" in ledger.lines(KNOWN, short)[0]["reason"]
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


def seeds_of(name="lab/a", accuracy=90.0, **changes) -> list[Entry]:
    return [entry(name, accuracy + away, seed, **changes) for seed, away in enumerate((-0.1, 0.0, 0.1))]


@pytest.mark.parametrize("n", [0, 1, 8, 1003])
def test_answers_are_kept_bit_by_bit(n):
    right = np.random.default_rng(n).random(n) < 0.8
    assert np.array_equal(unpacked(packed(right)), right)


def test_the_interval_is_over_seeds_and_images():
    """Seeds that agree leave the chance of the images: 1.96 binomial errors to either side."""
    right = np.arange(1000) < 900
    same = [entry(seed=s, right=packed(right)) for s in (1, 2, 3)]
    line = next(x for x in ledger.lines(KNOWN, same) if x["id"] == "lab/a" and x["way"] == "right")
    half = 196 * np.sqrt(0.9 * 0.1 / 1000)
    assert line["low"] == pytest.approx(90 - half, abs=0.25)
    assert line["high"] == pytest.approx(90 + half, abs=0.25)
    assert f"; {line['low']:.2f} to {line['high']:.2f})" in ledger_text.measured(line)
    one = next(x for x in ledger.lines(KNOWN, same[:1]) if x["id"] == "lab/a" and x["way"] == "right")
    some = [same[0], entry(seed=2)]  # a row from before answers were kept
    without = next(x for x in ledger.lines(KNOWN, some) if x["id"] == "lab/a" and x["way"] == "right")
    assert one["low"] is None
    assert without["low"] is None


def test_claims_are_judged_from_the_rows():
    assert ledger.claim_lines(KNOWN, seeds_of())[0]["verdict"] == "not run"
    judged = ledger.claim_lines(KNOWN, [*seeds_of(), *seeds_of("lab/b", 80.0)])[0]
    assert (judged["verdict"], judged["data"]) == ("holds", "mnist")


def test_a_claim_is_judged_on_each_data_set_that_has_all_its_rows():
    mnist = [*seeds_of(), *seeds_of("lab/b", 95.0)]
    fashion = [*seeds_of(data="fashion-mnist"), *seeds_of("lab/b", 80.0, data="fashion-mnist")]
    cifar = seeds_of(data="cifar10")  # half of it: says nothing, hides nothing
    judged = ledger.claim_lines(KNOWN, [*cifar, *mnist, *fashion])
    assert {(line["data"], line["verdict"]) for line in judged} == {
        ("mnist", "does not hold"),
        ("fashion-mnist", "not comparable"),
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

        def found(row, measure):  # by seed, the two ways move together: paired, their difference hardly does
            return Found({s: values[measure] + 3 * s + (s % 2) * 0.1 * (right > 20) for s in range(3)}, "c", "c")

        return claims.corrected([claims.evaluate(claim, found)])[0]

    assert judged(10.4, 10.2).verdict == "holds"
    against = judged(92.0, 10.2)
    assert against.verdict == "does not hold"
    assert "notes/cvae against itself: +81.80 points" in against.reason
    assert "over class of a batch's least total loss (13." in against.reason
    assert claims.evaluate(claim, lambda row, measure: None).reason == "needs notes/cvae"


def test_files_are_generated_from_the_raw_rows(tmp_path):
    folder = tmp_path / "results"
    (tmp_path / "README.md").write_text("before\n<!-- ledger -->\nan old table\n<!-- /ledger -->\nafter\n")
    (tmp_path / "README.zh-CN.md").write_text("前\n<!-- ledger -->\n<!-- /ledger -->\n后\n", encoding="utf-8")
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
    other = (tmp_path / "README.zh-CN.md").read_text(encoding="utf-8")
    assert other.removeprefix("前").removesuffix("后\n") == readme.removeprefix("before").removesuffix("after\n")
    assert "91.10 ± 0.14 % (n = 2; images 0.30)" in readme  # the first of its figures; LEDGER.md has all
    assert "1 of the 1 rows that were measured; " in readme
    assert "an old table" not in readme


def test_where_nothing_was_measured_the_rows_that_come_with_replab_are_shown(tmp_path):
    assert results.to_show(tmp_path / "results") == ROOT / "results"
    results.append(tmp_path / "results", entry(), KNOWN)
    assert results.to_show(tmp_path / "results") == tmp_path / "results"


def test_a_spoiled_raw_file_is_named(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"id": "lab/a"}\n')
    with pytest.raises(RunError, match=r"rows.jsonl is not what replab replicate wrote"):
        results.read(tmp_path)
    (tmp_path / "rows.jsonl").write_text("{\n{")
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
        recipe = kept.recipe_of(row.recipe, None if kept.way == FIXED else row.search_recipe())
        same = identity(recipe) == kept.recipe or kept.stale  # a stale row says so in the ledger
        assert same, f"{kept.id} was changed after seed {kept.seed} was measured"
        assert not re.search(r"(^|[\s=])/|\S@|@\S", kept.hardware + " " + kept.command), json.dumps(kept.command)
        assert kept.command.startswith(f"replab replicate {kept.id} ")

"""Every published row: parses, has its facts, builds at the published size with the published parameter count."""

from __future__ import annotations

import math
from importlib.metadata import EntryPoint

import pytest
from published_tiny import load

from replab import api
from replab.errors import RecipeError, UnknownName
from replab.explain import inside as explain
from replab.replication import packs
from replab.replication.packs import parse, published, select
from replab.report import write as report
from replab.training import prepare as setup

ROWS = published().rows
RUNNABLE = [row for row in ROWS.values() if not row.not_run]
# one row for each model on each backend: the cheapest that there is
EACH_MODEL = list({(row.recipe.model, row.recipe.backend): row for row in reversed(RUNNABLE)}.values())

IDS = """\
notes/mlp notes/cnn notes/cnn-b notes/resnet18 notes/resnet18-finetune notes/nanovit-p4 notes/nanovit-p2
notes/nanovit-p2-h3 notes/vit-b16-probe notes/patch-lstm notes/vae-faces notes/vae-kmeans notes/cvae notes/cvae-head
notes/vq-vae notes/dcgan notes/acgan lab9/mlp4 lab9/cnn64 lab9/resnet9 mnist-lab/conv1 mnist-lab/conv1-lr002
mnist-lab/conv1-lr05 mnist-lab/conv1-wd4 mnist-lab/conv1-wd2 mnist-lab/conv2 mnist-lab/conv2-leaky mnist-lab/resnet8
mnist-lab/vit numpy-lab/fcn numpy-lab/lenet numpy-lab/lenet-mse numpy-lab/lenet-nobn numpy-lab/lenet-noaug"""


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setattr(setup, "load", load)
    monkeypatch.setattr("replab.data.source.check_reachable", lambda name: None)
    monkeypatch.setattr("replab.data.source.check", lambda name: None)  # the published names are tiny sets here


def test_every_published_experiment_has_a_row():
    assert set(IDS.split()) <= set(ROWS)


@pytest.mark.parametrize("row", RUNNABLE, ids=lambda row: row.id)
def test_builds_with_the_published_parameter_count(row):
    ready = setup.prepare(row.recipe)  # puts a batch through the model
    found = sum(p.numel() for p in ready.model().parameters())
    assert row.parameters in (None, found)
    assert row.recipe.lr is not None
    assert row.recipe.epochs is not None


def test_rows_without_a_parameter_count_are_ours_or_did_not_print_one():
    assert {r.id for r in RUNNABLE if r.parameters is None and not r.variant_of} == {
        "fashion/mlp-256-128-100",
        "lecun1998/lenet5",
        "numpy-lab/lenet-nobn",
        "notes/vq-vae",
        "notes/dcgan",
        "notes/acgan",
    }


def one_picture(values, theme) -> list[str]:
    values.record.write_bytes("figures/samples.png", b"\x89PNG\r\n\x1a\n")
    return ["samples.png"]


@pytest.mark.parametrize("row", EACH_MODEL, ids=lambda row: row.id)
def test_fast_run_through_every_stage(row, tmp_path, monkeypatch):
    monkeypatch.setattr(report, "draw", one_picture)  # pictures have their own tests
    monkeypatch.setattr(explain, "SHOWN", 1)
    run = api.run(recipe=row.recipe.fast(), runs=tmp_path, quiet=True)
    assert run.finished
    assert run.facts["parameters"] == (row.parameters or run.facts["parameters"])
    assert run.chosen.backend == row.recipe.backend
    assert ("test accuracy" if row.recipe.task == "auto" else "samples") in run.report


def test_every_row_says_what_was_published_and_where_it_stands():
    for row in ROWS.values():
        said = any(f.published is not None for f in row.figures) or row.published or row.variant_of
        assert said, row.id
        assert row.hardware, row.id
        assert row.not_run or row.figures, row.id
        if row.variant_of:
            assert row.variant_of in ROWS, row.id
            assert row.notes, row.id


def test_where_the_published_way_was_wrong_the_right_way_stands_beside_it():
    for name in ("lab9/mlp4", "lab9/cnn64", "lab9/resnet9", "mnist-lab/resnet8", "mnist-lab/vit", "numpy-lab/lenet"):
        ways = {figure.right for figure in ROWS[name].figures}
        assert ways == {True, False}, name
    assert ROWS["notes/patch-lstm-ends"].recipe.params["readout"] == "ends"
    assert ROWS["notes/patch-lstm-ends"].variant_of == "notes/patch-lstm"


def test_the_search_of_the_notes_is_their_protocol():
    recipe = ROWS["notes/cnn"].search_recipe()
    found = recipe.search
    assert (recipe.lr, recipe.epochs, recipe.batch_size, recipe.optimizer) == (None, None, 128, "adam")
    assert (found.trials, found.max_epochs, found.patience, found.fraction, found.validation) == (20, 50, 5, 0.2, 0.2)
    assert not found.prune
    assert found.lr == pytest.approx((math.exp(-10), math.exp(-4)))
    with pytest.raises(RecipeError, match="fixed settings"):
        ROWS["lab9/mlp4"].search_recipe()


def test_the_augmented_copy_doubles_the_training_images_alone():
    with_copy = setup.prepare(ROWS["numpy-lab/fcn"].recipe).data
    without = setup.prepare(ROWS["numpy-lab/fcn"].recipe.replace(augmented_copy="")).data
    n = len(without.train)
    assert len(with_copy.train) == 2 * n
    assert (with_copy.train.pixels[:n] == without.train.pixels).all()
    assert (with_copy.train.pixels[n:] != without.train.pixels).any()
    assert (with_copy.train.labels[n:] == without.train.labels).all()
    assert (with_copy.test.pixels == without.test.pixels).all()
    assert with_copy.fingerprint != without.fingerprint


def test_an_augmented_copy_is_not_searched_with():
    with pytest.raises(RecipeError, match="--augmented-copy cannot be combined with a search"):
        ROWS["numpy-lab/fcn"].recipe.replace(lr=None)


def test_globs_keep_the_packs_order_and_unknown_names_are_helped():
    assert [r.id for r in select(["mnist-lab/conv2*", "notes/mlp"], ROWS)] == [
        "mnist-lab/conv2",
        "mnist-lab/conv2-leaky",
        "notes/mlp",
    ]
    with pytest.raises(UnknownName, match="Did you mean 'lab9/resnet9'"):
        select(["lab9/resnet"], ROWS)


SOURCE = '[source]\ntitle = "S"\ntolerance = {accuracy = 0.5, loss = 0.1}\n[source.recipe]\nlr = 0.1\nepochs = 2\n'


def test_rows_take_their_sources_recipe_and_tolerance():
    text = SOURCE + '[[row]]\nid = "s/a"\nrecipe = {epochs = 3}\n'
    text += (
        'figures = [{measure = "test_accuracy"}, {measure = "test_loss"}, {measure = "test_loss", tolerance = 2.0}]\n'
    )
    row = parse({"s": text}).rows["s/a"]
    assert (row.recipe.lr, row.recipe.epochs) == (0.1, 3)
    assert [f.tolerance for f in row.figures] == [0.5, 0.1, 2.0]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('[[row]]\nid = "s/a"\ncolour = 1\n', "no such key colour"),
        ('[[row]]\nid = "s/a"\nfigures = [{measure = "test_loss", bound = "over"}]\n', "bound must be above or below"),
        ('[[row]]\nid = "s/a"\ncurve = {test_loss = [1.0]}\n', "one value per epoch, got test_loss with 1 of 2"),
        ('[[row]]\nid = "t/a"\n', "must begin with s/, got 't/a'"),
        ('[[row]]\nid = "s/a"\n[[row]]\nid = "s/a"\n', "s/a twice"),
        ('[[row]]\nid = "s/a"\nfigures = [{measure = "luck"}]\n', "no measure named 'luck'"),
        ('[[row]]\nid = "s/a"\nfigures = [{measure = "test_loss", odd = 1}]\n', "no such key odd"),
        ('[[row]]\nid = "s/a"\nrecipe = {learning = 1}\n', "no recipe key named 'learning'"),
        (
            '[[row]]\nid = "s/a"\n[[claim]]\nid = "s/c"\nwords = "w"\n'
            'checks = [{runs = ["s/b"], control = ["s/a"], expect = "higher"}]\n',
            "no published row named 's/b'",
        ),
        (
            '[[row]]\nid = "s/a"\n[[claim]]\nid = "s/c"\nwords = "w"\n'
            'checks = [{runs = ["s/a"], control = ["s/a"], expect = "prettier"}]\n',
            "expect must be higher, lower or within",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(more, said):
    with pytest.raises((RecipeError, UnknownName), match=said):
        parse({"s": SOURCE + more})


def test_every_claim_can_be_tested_or_says_why_not():
    for claim in published().claims.values():
        assert bool(claim.checks) != bool(claim.not_run), claim.id
        assert claim.control, claim.id


def test_a_source_is_named_and_its_format_is_known():
    with pytest.raises(RecipeError, match="reads packs of format 1, got 2; update replab"):
        parse({"s": "format = 2\n" + SOURCE})
    with pytest.raises(RecipeError, match=r"no such key author; docs/packs.md has the known ones"):
        parse({"s": SOURCE.replace("title", 'author = "me"\ntitle', 1)})
    with pytest.raises(RecipeError, match=r"needs a \[source\] with a title"):
        parse({"s": "format = 1\n"})
    for name, source in published().sources.items():
        assert source["citation"], name
    for name in ("airbench94", "lecun1998"):
        assert {"url", "citation", "licence"} <= set(published().sources[name])


def test_all_sixty_printed_epochs_of_lab9_are_there():
    for name in ("mlp4", "cnn64", "resnet9"):
        row = ROWS[f"lab9/{name}"]
        assert set(row.curve) == {"train_loss", "test_loss", "train_accuracy"}
        last = {figure.measure: figure.published for figure in row.figures if not figure.right}
        assert {measure: printed[-1] for measure, printed in row.curve.items()} == last  # the table's final numbers
    assert ROWS["lab9/mlp4"].curve["train_accuracy"][12] == 13.6  # its collapse


OWN = """
format = 1
[source]
title = "A paper of my own"
tolerance = { accuracy = 2.0 }
[source.recipe]
data = "mnist"
lr = 1e-3
epochs = 1
limit = 60
[[row]]
id = "mine/mlp"
recipe = { model = "mlp" }
figures = [{ measure = "test_accuracy", published = 20.0 }]
"""


def test_a_pack_of_ones_own(replab, in_tmp):
    (in_tmp / "mine.toml").write_text(OWN)
    (in_tmp / "mine.toml").write_text(OWN + "parameters = 7\n")
    code, out, err = replab("replicate", "--pack", "mine.toml", "--seeds", 2, "--workers", 1)
    assert code == 0, err
    assert "mine/mlp: published with 7 parameters, here are 535,818" in out + err
    code, out, _ = replab("replicate", "--pack", "mine.toml", "--list")
    assert "mine/mlp" in out
    assert "(n = 2" in out
    assert "notes/mlp" not in out
    text = (in_tmp / "results" / "mine" / "LEDGER.md").read_text()
    assert "A paper of my own" in text
    assert "`replab replicate --pack mine.toml mine/mlp --seeds 2`" in text  # works where it is typed again


def test_a_broken_pack_is_refused_in_one_line(refuses, in_tmp):
    (in_tmp / "mine.toml").write_text("[source")
    assert "mine.toml is not valid TOML" in refuses("replicate", "--pack", "mine.toml")
    assert "docs/packs.md shows one" in refuses("replicate", "--pack", "none.toml")
    (in_tmp / "mine.toml").write_text(OWN.replace("mine/mlp", "other/mlp"))
    assert "must begin with mine/" in refuses("replicate", "--pack", "mine.toml")


def test_packs_come_by_entry_point(monkeypatch, tmp_path):
    (tmp_path / "their_packs").mkdir()
    (tmp_path / "their_packs" / "__init__.py").write_text("")
    (tmp_path / "their_packs" / "mine.toml").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("theirs", "their_packs", "replab.packs")
    monkeypatch.setattr(packs, "plugins", lambda group: [point])
    assert "mine/mlp" in packs.published.__wrapped__().rows

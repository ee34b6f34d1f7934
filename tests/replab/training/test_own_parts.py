"""A user's own loss, optimizer, schedule, augmentation and metric: used, kept, refused, and never a stranger's."""

import json
import math
import shutil
import sys

import numpy as np
import pytest
import torch

from replab import api
from replab.backends import user_file
from replab.errors import ModelError, ReplabError, RunError
from replab.models import trust
from replab.report import write as report
from replab.settings.own_parts import kept_as, split
from replab.settings.recipe import Recipe

PARTS = """
import numpy as np
import torch
from torch.nn import functional as F

def doubled(logits, target):
    return 2 * F.cross_entropy(logits, target, reduction="none")

class Plain(torch.optim.Optimizer):
    def __init__(self, params, lr, weight_decay=0.0):
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(group["lr"] * (p.grad + group["weight_decay"] * p))

def halving(step, total, lr):
    return lr * 0.5**step

def shade(x, generator, black, strength=0.5):
    return black + (x - black) * (1 - strength)

def third(logits, labels):
    return float((logits.argmax(1) == 3).mean())
"""
OWN = {"loss": "doubled", "optimizer": "Plain", "schedule": "halving", "augment": "shade", "metric": "third"}
SMALL = {"lr": 0.1, "epochs": 2, "limit": 60, "batch_size": 30, "params": {"widths": [4]}, "quiet": True}
IMAGE = np.zeros((8, 8), np.uint8)


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(user_file, "_roots", [])
    monkeypatch.setattr(report, "draw", lambda *_: [])
    monkeypatch.setenv("REPLAB_CONFIG", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


def run(folder, **settings):
    return api.run("mlp", runs=folder / "runs", **{**SMALL, **settings})


def named(folder, text=PARTS):
    (folder / "parts.py").write_text(text)
    return {setting: f"{folder / 'parts.py'}:{function}" for setting, function in OWN.items()}


@pytest.fixture
def functions():
    found = {}
    exec(PARTS, found)
    return {setting: found[function] for setting, function in OWN.items()}


def test_from_a_file_and_as_functions_they_do_the_same(tmp_path, functions):
    mine = run(tmp_path, **named(tmp_path))
    live = run(tmp_path, **functions)
    assert mine.epochs == live.epochs
    assert mine.metrics == live.metrics
    assert [row["lr"] for row in mine.epochs] == [0.1 * 0.5**1, 0.1 * 0.5**3]  # two steps per epoch
    assert 0 <= mine.metrics["third_low"] <= mine.metrics["third"] <= mine.metrics["third_high"] <= 1
    assert "third" in mine.report
    assert live.recipe.optimizer == "python:Plain"


def test_each_has_the_effect_it_says(tmp_path):
    parts, plain = named(tmp_path), run(tmp_path, optimizer="sgd")
    rows = {setting: run(tmp_path, **{"optimizer": "sgd", setting: part}).epochs for setting, part in parts.items()}
    for own, theirs in zip(rows["optimizer"], plain.epochs):
        assert own == pytest.approx(theirs, rel=1e-5)  # plain SGD is what it is
    assert rows["loss"][0]["train_loss"] > 1.5 * plain.epochs[0]["train_loss"]
    assert rows["schedule"][1]["lr"] < plain.epochs[1]["lr"]
    assert rows["augment"] != plain.epochs
    assert [{k: v for k, v in row.items() if k != "test_third"} for row in rows["metric"]] == plain.epochs


def test_their_texts_and_hashes_are_kept(tmp_path):
    parts = named(tmp_path)
    mine = run(tmp_path, **parts)
    for name in parts.values():
        assert (mine.folder / kept_as(name)).read_text() == PARTS
        assert mine.input["parts"][name] == trust.digest(PARTS)
    assert {kept_as(name) for name in parts.values()} == {path.name for path in mine.folder.glob("part_file-*")}


def test_an_interrupted_run_goes_on_with_the_kept_text(tmp_path):
    parts = named(tmp_path)
    whole = run(tmp_path, **parts)
    cut = shutil.copytree(whole.folder, tmp_path / "runs" / "cut")
    for name in ("manifest.jsonl", "metrics.json", "model.safetensors", "epochs.jsonl"):
        (cut / name).unlink()
    (tmp_path / "parts.py").write_text("raise SystemExit")  # the file has changed
    assert api.resume(cut, quiet=True).metrics == whole.metrics


def test_functions_of_a_session_are_given_again(tmp_path, functions):
    whole = run(tmp_path, **functions)
    cut = shutil.copytree(whole.folder, tmp_path / "runs" / "cut")
    for name in ("manifest.jsonl", "metrics.json", "model.safetensors", "epochs.jsonl"):
        (cut / name).unlink()
    with pytest.raises(ModelError, match=r"python:doubled was a function .*resume or load_run\(run, loss=...\) takes"):
        api.resume(cut, quiet=True)
    assert api.resume(cut, quiet=True, **functions).metrics == whole.metrics
    with pytest.raises(RunError, match="the run has 1 loss of its own, got 2"):
        api.resume(cut, quiet=True, loss=[functions["loss"]] * 2)
    assert api.load_run(whole.folder).predict(IMAGE)  # a trained model needs none of them
    again = api.load_run(whole.folder, **functions).reopened()  # to evaluate or train with them once more
    assert again.own["python:doubled"].function is functions["loss"]


def test_searched_by_workers_as_in_this_process(tmp_path):
    parts = named(tmp_path)
    settings = {**parts, "lr": None, "epochs": 1, "search": {"trials": 2, "max_epochs": 1}}
    alone, sent = (run(tmp_path, **settings, workers=workers) for workers in (1, 2))
    assert alone.trials == sent.trials
    with pytest.raises(ModelError, match=r"--workers 2 needs code that can be sent to a worker: python:lambda"):
        run(tmp_path, **{**settings, "schedule": lambda step, total, lr: lr}, workers=2)


# -- a stranger's run --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stranger")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REPLAB_CONFIG", str(folder / "config"))
        patch.setattr(report, "draw", lambda *_: [])
        return run(folder, epochs=1)


def forged(made, folder, setting):
    """A run folder whose recipe names code of its own as one part, everything it says of itself made to fit."""
    gift = shutil.copytree(made.folder, folder / "runs" / "gift")
    text = f"import os\nos.mkdir({str(folder / 'executed')!r})\n{PARTS}"
    name = f"{gift / 'evil.py'}:{OWN[setting]}"
    (gift / "evil.py").write_text(text)
    (gift / kept_as(name)).write_text(text)
    (gift / "manifest.jsonl").unlink()
    value = [name] if setting in ("augment", "metric") else name
    for file in ("recipe.toml", "chosen.toml"):
        recipe = Recipe.read(gift / file).replace(**{setting: value})
        (gift / file).write_text(recipe.to_toml())
    facts = json.loads((gift / "input.json").read_text())
    (gift / "input.json").write_text(json.dumps({**facts, "parts": {name: trust.digest(text)}}))
    return gift


@pytest.mark.parametrize("setting", OWN)
def test_a_received_folder_runs_no_code(made, tmp_path, setting, replab, functions):
    gift = forged(made, tmp_path, setting)
    uses = [
        lambda: api.resume(gift, quiet=True),
        lambda: api.load_run(gift).reopened(),
        lambda: api.run(recipe=gift / "recipe.toml", runs=tmp_path / "again", quiet=True),
        lambda: api.run("mlp", recipe=gift / "recipe.toml", runs=tmp_path / "again", quiet=True),
    ]
    for use in uses:
        with pytest.raises(ModelError, match=r"brings code, which is not run unasked: \w+ in .*part_file-evil.*--tru"):
            use()
    assert api.load_run(gift).predict(IMAGE)  # using a trained model needs no other code
    assert api.load_run(gift, **{setting: functions[setting]}).reopened().own  # the caller's own, in its place
    for words in (["report", gift], ["leaderboard"], ["verify", gift], ["audit", gift], ["runs"]):
        replab(*words, "--runs", gift.parent)
    assert not (tmp_path / "executed").exists()
    assert not (tmp_path / "again").exists()
    for file in ("metrics.json", "model.safetensors", "epochs.jsonl"):  # what is left to do does not change the rule
        (gift / file).unlink()
        with pytest.raises(ModelError, match="brings code"):
            api.resume(gift, quiet=True)
    assert not (tmp_path / "executed").exists()
    api.resume(gift, quiet=True, trust=True)
    assert (tmp_path / "executed").exists()  # it would have been, all along


@pytest.mark.parametrize("setting", OWN)
def test_another_function_of_a_trusted_text(made, tmp_path, setting):
    """`from os import mkdir` in a file that was trusted for one function is not trusted for the other."""
    text = f"from os import mkdir\n{PARTS}"
    run(tmp_path, **{setting: named(tmp_path, text)[setting]})
    gift = forged(made, tmp_path, setting)
    name = f"{tmp_path / 'parts.py'}:mkdir"
    (gift / kept_as(name)).write_text(text)
    recipe = Recipe.read(gift / "recipe.toml")
    value = [name] if setting in ("augment", "metric") else name
    (gift / "recipe.toml").write_text(recipe.replace(**{setting: value}).to_toml())
    with pytest.raises(ModelError, match="brings code, which is not run unasked: mkdir in"):
        api.resume(gift, quiet=True)


# -- bad input ---------------------------------------------------------------------------------------------------------

BAD = """
import torch
from torch.nn import functional as F

def scalar(logits, target): return F.cross_entropy(logits, target)
def nan(logits, target): return F.cross_entropy(logits, target, reduction="none") * float("nan")
def detached(logits, target): return F.cross_entropy(logits, target, reduction="none").detach()
def three(logits, target, more): return logits.sum(1)
def broken(logits, target): return logits.no_such_thing()
def refuses(params, lr): raise ValueError("no groups, please")
def no_optimizer(params, lr): return 3
def needs_closure(params, lr): return torch.optim.LBFGS(params, lr=lr)
def words(step, total, lr): return "fast"
def negative(step, total, lr): return -lr
def smaller(x, generator, black): return x[:, :, 1:]
def dropped(x, generator, black): return None
def table(logits, labels): return logits
def undefined(logits, labels): return float("nan")
def accuracy(logits, labels): return 1.0
number = 3
"""


@pytest.mark.parametrize(
    ("setting", "function", "says"),
    [
        (
            "loss",
            "scalar",
            r"must return one loss per image, shape \(4,\) for 4 images, got one number for the",
        ),
        ("loss", "nan", r"must return finite numbers, got \[nan, .* for random logits"),
        ("loss", "detached", "must depend on the logits, got a loss without a gradient"),
        ("loss", "three", r"must take \(logits, target\) to be used as loss, but takes \(logits, target, more\)"),
        ("loss", "broken", r"bad.py:broken fails as loss: AttributeError: .*no_such_thing.* \(line 9\)"),
        ("loss", "number", "bad.py:number is not callable but int; name a function or class"),
        ("loss", "absent", "bad.py has no function or class 'absent'; it has scalar, nan"),
        ("optimizer", "refuses", r"bad.py:refuses refuses its parameters: ValueError: no groups, please \(line 10\)"),
        ("optimizer", "no_optimizer", "must return an optimizer as torch has them, got int without param_groups, step"),
        ("optimizer", "needs_closure", "fails in training .*closure"),
        ("schedule", "words", "must return a rate of at least 0, got 'fast' at step 0 of 10"),
        ("schedule", "negative", "must return a rate of at least 0, got -0.1 at step 0"),
        ("augment", "smaller", r"must return images of the shape it got, \(4, 1, 8, 8\), got shape \(4, 1, 7, 8\)"),
        ("augment", "dropped", "must return images of the shape it got, .* got NoneType"),
        ("metric", "table", "must return a finite number, got an array of shape"),
        ("metric", "undefined", "must return a finite number, got nan"),
        ("metric", "accuracy", "a metric of your own needs a name of its own, got .*:accuracy; rename the function"),
    ],
)
def test_bad_parts_are_refused_before_anything_is_written(tmp_path, setting, function, says):
    (tmp_path / "bad.py").write_text(BAD)
    with pytest.raises(ReplabError, match=says) as caught:
        run(tmp_path, **{setting: f"{tmp_path / 'bad.py'}:{function}"})
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "runs").exists()


def test_refusals_that_need_no_import(tmp_path, refuses):
    assert "no loss file none.py: looked in" in refuses("run", "mlp", "--loss", "none.py:loss")
    assert "a schedule file is given as FILE.py:FUNCTION, got 'x.py'" in refuses("run", "mlp", "--schedule", "x.py",
                                                                                 "--epochs", 1)  # fmt: skip
    assert "--distance is the distance of --head knn" in refuses("run", "mlp", "--metric", "euclidean")
    assert "Plain takes no momentum, got 0.9; leave --momentum out" in refuses(
        "run", "mlp", "--optimizer", named(tmp_path)["optimizer"], "--momentum", 0.9, "--lr", 1, "--epochs", 1
    )
    assert "--loss is of classifiers, and reconstruct has its own, got focal" in refuses(
        "run", "vae", "--loss", "focal"
    )
    said = refuses("run", "mlp", "--loss", "focal", "--label-smoothing", 0.1)
    assert "--loss focal does not smooth labels, got 0.1; leave one of them out" in said


def test_names_with_arguments():
    assert split("crop=4") == ("crop", "4")
    assert split("a=b/mine.py:shade=0.5:2") == ("a=b/mine.py:shade", "0.5:2")
    assert split(" flip ") == ("flip", "")


def test_on_mytorch(tmp_path):
    parts = named(tmp_path)
    theirs, mine = (run(tmp_path, **parts, backend=backend) for backend in ("torch", "mytorch"))
    assert [row["lr"] for row in theirs.epochs] == [row["lr"] for row in mine.epochs]
    assert theirs.metrics["loss"] == pytest.approx(mine.metrics["loss"], rel=0.2)  # they draw other first weights
    assert theirs.metrics.keys() == mine.metrics.keys()


def test_a_class_of_torch_is_an_optimizer(tmp_path):
    assert run(tmp_path, optimizer=torch.optim.NAdam).epochs == run(tmp_path, optimizer="nadam").epochs
    assert math.isfinite(run(tmp_path, optimizer=torch.optim.Adamax).metrics["loss"])

"""Weights from files and runs: what is loaded and what is new is said, what does not fit or would run is refused."""

import os
import pickle

import pytest
import torch
from listening import Lines
from safetensors.torch import save_file

from replab import api
from replab.data.images import ImageSpec
from replab.errors import ModelError, UnknownName
from replab.models.pretrained import weights
from replab.models.registry import MODELS
from replab.records.events import Events
from replab.settings.recipe import Recipe
from replab.training import prepare as setup

CNN = {"channels": [4, 8], "hidden": 16}


def cnn(classes=10, **more):
    return MODELS.get("cnn")(ImageSpec(1, 8, 8, classes), **{**CNN, **more})


@pytest.fixture
def saved(tmp_path):
    torch.manual_seed(1)
    model = cnn(classes=4)
    save_file(model.state_dict(), tmp_path / "four.safetensors")
    torch.save({"state_dict": {f"module.{k}": v for k, v in model.state_dict().items()}}, tmp_path / "four.pth")
    return tmp_path, model


@pytest.mark.parametrize("name", ["four.safetensors", "four.pth"])
def test_all_but_the_head_of_other_classes_is_loaded(saved, name):
    folder, model = saved
    ready = setup.prepare(Recipe(model="cnn", params=CNN, limit=60, weights=str(folder / name)))
    made = ready.model()
    for key, value in made.state_dict().items():
        if not key.startswith("12."):
            assert torch.equal(value, model.state_dict()[key]), key
    assert made[12].out_features == 10
    summary = ready.weights_summary
    assert set(summary.new) == {"12.weight", "12.bias"} == set(summary.unused)
    assert summary.sentence().startswith(f"weights: {len(summary.loaded)} tensors loaded, 2 new (12.weight, 12.bias)")


def test_a_head_that_fits_is_loaded_too(tmp_path):
    torch.manual_seed(2)
    save_file(cnn().state_dict(), tmp_path / "w.safetensors")
    summary = weights.put_into(cnn(), weights.read(tmp_path / "w.safetensors"), ["12"], "cnn")
    assert not summary.new
    assert not summary.unused


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda state: state.pop("4.weight"), "4.weight is not in the file"),
        (lambda state: state.update({"extra.weight": torch.zeros(1)}), "extra.weight is not in the model"),
        (lambda state: state.update({"4.weight": torch.zeros(3)}), r"4.weight is \(3,\) in the file and"),
    ],
)
def test_a_partial_load_is_an_error(tmp_path, change, said):
    state = dict(cnn().state_dict())
    change(state)
    save_file(state, tmp_path / "w.safetensors")
    model = cnn()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    with pytest.raises(ModelError, match=f"{said}.*only 12 may differ"):
        weights.put_into(model, weights.read(tmp_path / "w.safetensors"), ["12"], "cnn")
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())


def test_names_that_differ_by_a_prefix_are_two_tensors(tmp_path):
    def wrapped():
        model = torch.nn.Module()
        model.net, model.fc = torch.nn.ModuleDict({"fc": torch.nn.Linear(4, 4)}), torch.nn.Linear(4, 4)
        return model

    theirs, own = wrapped(), wrapped()
    save_file(theirs.state_dict(), tmp_path / "w.safetensors")
    summary = weights.put_into(own, weights.read(tmp_path / "w.safetensors"), ["fc"], "wrapped")
    assert set(summary.loaded) == set(own.state_dict())
    assert all(torch.equal(value, own.state_dict()[key]) for key, value in theirs.state_dict().items())


class Hostile:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("save", [torch.save, lambda o, p: p.write_bytes(pickle.dumps(o))])
def test_a_hostile_pickle_is_refused_and_not_run(tmp_path, save, refuses, recwarn):
    file, mark = tmp_path / "w.pth", tmp_path / "pwned"
    save({"a": Hostile(mark)}, file)
    said = refuses("run", "mlp", "--limit", 60, "--weights", file)
    assert "is refused" in said
    assert ".safetensors" in said
    assert not mark.exists()
    assert not recwarn.list  # one line is said


def test_what_is_no_file_of_weights_is_one_line(tmp_path, refuses):
    (tmp_path / "w.safetensors").write_bytes(b"nonsense")
    torch.save([1, 2], tmp_path / "list.pth")
    for name, said in (("w.safetensors", "not a whole"), ("list.pth", "state dict"), ("none", "no weights at")):
        assert said in refuses("run", "mlp", "--limit", 60, "--weights", tmp_path / name)


def test_an_earlier_run_by_its_id(finished_run, tmp_path):
    lines = Lines()
    run = api.run(
        "mlp", weights=finished_run.id, params={"widths": [16]}, limit=60, lr=1e-3, epochs=1,
        runs=finished_run.folder.parent, events=Events(lines), head="linear",
    )  # fmt: skip
    assert any("4 tensors loaded, none new" in line for line in lines)
    assert run.recipe.weights == str(finished_run.folder)
    assert len(run.input["weights_sha256"]) == 64
    with pytest.raises(ModelError, match="are not those of cnn"):
        setup.prepare(Recipe(model="cnn", weights=str(finished_run.folder), limit=60))


def test_a_finished_run_needs_its_first_weights_no_more(saved):
    folder, _ = saved
    file = folder / "four.safetensors"
    run = api.run("cnn", params=CNN, weights=str(file), limit=60, lr=1e-3, epochs=1, runs=folder / "runs")
    said = run.predict(run.predictions["mistake_pixels"][0])
    file.unlink()
    assert api.load_run(run.folder).predict(run.predictions["mistake_pixels"][0]) == said


def test_a_source_is_named_before_a_colon(tmp_path):
    path = tmp_path / "w.safetensors"
    save_file(cnn().state_dict(), path)
    assert weights.read(f"file:{path}").sha256 == weights.read(path).sha256
    with pytest.raises(UnknownName, match=r"no weight source named 'fil'\. Did you mean 'file'"):
        weights.read(f"fil:{path}")


def plain_net():
    return torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.Flatten(), torch.nn.Linear(8, 3))


WRAPPED = {
    "state_dict": (lambda s: {"state_dict": s, "epoch": 3}, "taken from 'state_dict' of the file"),
    "net of pytorch-cifar": (lambda s: {"net": {f"module.{k}": v for k, v in s.items()}, "acc": 94.1, "epoch": 3},
                             "taken from 'net' of the file; prefix 'module.' of its names stripped"),
    "Lightning": (lambda s: {"state_dict": {f"model.{k}": v for k, v in s.items()}, "pytorch-lightning_version": "2"},
                  "taken from 'state_dict' of the file; prefix 'model.' of its names stripped"),
    "compiled and parallel": (lambda s: {f"module._orig_mod.{k}": v for k, v in s.items()},
                              "prefix 'module._orig_mod.' of its names stripped"),
    "any word": (lambda s: {f"classifier_net.{k}": v for k, v in s.items()},
                 "prefix 'classifier_net.' of its names stripped"),
    "twice": (lambda s: {"model": {"state_dict": s}},
              "taken from 'model' of the file; taken from 'state_dict' of the file"),
}  # fmt: skip


@pytest.mark.parametrize("how", WRAPPED)
def test_wrapped_and_prefixed_files_load_and_say_what_was_done(tmp_path, how):
    wrap, says = WRAPPED[how]
    theirs, mine = plain_net(), plain_net()
    torch.save(wrap(theirs.state_dict()), tmp_path / "theirs.pth")
    summary = weights.put_into(mine, weights.read(tmp_path / "theirs.pth"), ("2",), "plain")
    assert summary.sentence().endswith(f"from {tmp_path / 'theirs.pth'} ({says})")
    assert all(torch.equal(a, b) for a, b in zip(theirs.state_dict().values(), mine.state_dict().values()))


def test_what_else_a_wrapper_held_is_no_silent_loss(tmp_path):
    """A loss of its own below another name: refused, and named."""
    state = {f"model.{k}": v for k, v in plain_net().state_dict().items()} | {"loss_fn.weight": torch.ones(3)}
    torch.save({"state_dict": state}, tmp_path / "theirs.pth")
    with pytest.raises(ModelError, match=r"loss_fn.weight is not in the model"):
        weights.put_into(plain_net(), weights.read(tmp_path / "theirs.pth"), ("2",), "plain")


def test_a_plain_file_says_nothing_more(tmp_path):
    torch.save(plain_net().state_dict(), tmp_path / "theirs.pth")
    summary = weights.put_into(plain_net(), weights.read(tmp_path / "theirs.pth"), ("2",), "plain")
    assert summary.done == ()

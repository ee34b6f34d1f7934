"""Features once: the same result as without, a second run computes nothing, a change recomputes, a kill is no loss."""

import dataclasses
import multiprocessing
import os
import signal

import numpy as np
import pytest
import torch

from replab import api
from replab.models.adapt import freezing
from replab.records.events import Events
from replab.records.record import Record
from replab.report import write as report
from replab.settings.recipe import Recipe
from replab.training import cost, feature_cache, features
from replab.training import prepare as setup
from replab.training.experiment import Experiment

CNN = {"model": "cnn", "params": {"channels": [4, 8], "hidden": 16}, "limit": 90, "freeze": True}
VIT = {"model": "nanovit", "params": {"width": 16, "heads": 2, "depth": 2, "ffn": 16}, "limit": 90, "freeze": True}
SEARCH = {"trials": 2, "max_epochs": 3, "fraction": 1.0, "min_validation": 20}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("REPLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(report, "draw", lambda *args: [])


@pytest.fixture
def passes(monkeypatch):
    """How many images went through the backbone to make features."""
    seen, real = [], features.features_of

    def counted(ready, body, images):
        seen.append(len(images))
        return real(ready, body, images)

    monkeypatch.setattr(features, "features_of", counted)
    return seen


def ready(**more):
    return setup.prepare(Recipe().replace(**{**CNN, **more}))


@pytest.mark.parametrize("kind", [CNN, VIT], ids=["cnn", "nanovit"])
@pytest.mark.parametrize("head", ["linear", "mlp"])
def test_search_and_training_end_as_without_the_cache(tmp_path, kind, head):
    cached, plain = (
        api.run(recipe=Recipe().replace(**kind, head=head, search=SEARCH, feature_cache=on), runs=tmp_path / str(on))
        for on in (True, False)
    )
    assert cached.chosen.lr == plain.chosen.lr
    assert cached.chosen.epochs == plain.chosen.epochs
    np.testing.assert_allclose(cached.predictions["logits"], plain.predictions["logits"], atol=1e-5)
    for key, value in plain.record.weights().items():
        np.testing.assert_allclose(cached.record.weights()[key], value, atol=1e-5)
    assert cached.facts["unsteadiness"] < 1e-5  # the whole model on images, against the head on features
    assert cached.facts["parameters"] == plain.facts["parameters"]
    assert "features" in cached.seconds
    assert "features" not in plain.seconds


def test_a_fixed_head_gives_the_same_logits():
    here = ready()
    model = here.model().eval()
    made = here.learner(Events()).data.test
    batch = next(iter(here.batches(here.data.test, model).epoch(0)))
    with torch.no_grad():
        wanted, found = model(batch.x), freezing.head(model)(torch.from_numpy(made.pixels.copy()))
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=0)


def test_a_second_run_computes_nothing_and_test_images_come_last(passes):
    first = ready().learner(Events())
    made = np.array(first.data.train.pixels)
    assert sum(n for n in passes if n > 1) == 90
    passes.clear()
    again = ready(seed=3407, lr=0.1).learner(Events())
    assert np.array_equal(again.data.train.pixels, made)
    assert isinstance(again.data.train.pixels.base, np.memmap)
    assert max(passes) == 1  # one image tells the width
    assert "test" not in vars(again.data)


@pytest.mark.parametrize("change", ["weight", "buffer", "image", "normalise", "side"])
def test_any_change_makes_another_key(change, passes, monkeypatch):
    ready().learner(Events()).data.train  # noqa: B018 (made)
    passes.clear()
    other = ready(**{"normalise": {"normalise": "half"}, "side": {"size": 9}}.get(change, {}))
    if change == "image":
        pixels = other.data.train.pixels.copy()
        pixels[3, 0, 0, 0] ^= 1
        train = dataclasses.replace(other.data.train, pixels=pixels)
        other = dataclasses.replace(other, data=dataclasses.replace(other.data, train=train))
    if change in ("weight", "buffer"):
        real = Experiment.model

        def changed(self, recipe=None):
            model = real(self, recipe)
            with torch.no_grad():
                (model[0].weight if change == "weight" else model[1].running_mean).view(-1)[0] += 1e-3
            return model

        monkeypatch.setattr(Experiment, "model", changed)
    other.learner(Events()).data.train  # noqa: B018
    assert max(passes) == 90


def fill(key, count, die_after, calls):
    def compute(start, stop):
        if die_after is not None and len(calls) == die_after:
            os.kill(os.getpid(), signal.SIGKILL)
        calls.append(start)
        return np.arange(start, stop, dtype=np.float32)[:, None].repeat(2, 1)

    return feature_cache.rows(key, count, 2, compute, lambda items, total: iter(items))


def test_killed_midway_it_goes_on_where_it_was(monkeypatch):
    monkeypatch.setattr(feature_cache, "BLOCK", 10)
    process = multiprocessing.get_context("fork").Process(target=fill, args=("a", 35, 2, []))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    calls = []
    found = fill("a", 35, None, calls)
    assert calls == [20, 30]
    assert np.array_equal(found[:, 0], np.arange(35))
    calls.clear()
    assert np.array_equal(fill("a", 35, None, calls), found)
    assert not calls


def test_a_damaged_file_is_made_anew(monkeypatch, tmp_path):
    fill("a", 35, None, [])
    file = next(tmp_path.glob("cache/features/features-*/features.npy"))
    data = bytearray(file.read_bytes())
    data[-3] ^= 1
    file.write_bytes(data)
    calls = []
    assert np.array_equal(fill("a", 35, None, calls)[:, 1], np.arange(35))
    assert calls


def test_where_nothing_can_be_written_it_works_in_memory(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("REPLAB_CACHE", str(tmp_path / "file" / "below"))
    assert np.array_equal(fill("a", 5, None, [])[:, 0], np.arange(5))


def child(root, queue):
    os.environ["REPLAB_CACHE"] = root
    calls = []
    found = fill("two", 5000, None, calls)
    queue.put((len(calls), float(found.sum())))


def test_two_processes_share_one_pass(tmp_path):
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    both = [context.Process(target=child, args=(str(tmp_path / "shared"), queue)) for _ in range(2)]
    for process in both:
        process.start()
    answers = [queue.get(timeout=30) for _ in both]
    for process in both:
        process.join()
    assert sum(calls for calls, _ in answers) == -(-5000 // feature_cache.BLOCK)
    assert len({total for _, total in answers}) == 1


def test_where_it_does_not_apply():
    assert isinstance(ready(), features.Frozen)
    assert not isinstance(ready(freeze=False), features.Frozen)
    assert not isinstance(ready(augment=["flip"]), features.Frozen)
    assert not isinstance(ready(feature_cache=False), features.Frozen)
    assert not isinstance(ready(search={"space": {"dropout": [0.1, 0.5]}}), features.Frozen)


def test_layers_after_the_head_keep_the_backbone_in_the_loop(tmp_path):
    file = tmp_path / "m.py"
    file.write_text(
        "from torch import nn\n"
        "def build(image):\n"
        "    return nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.Linear(8, 10), nn.LogSoftmax(1))\n"
    )
    assert not isinstance(ready(model=f"{file}:build", params={}), features.Frozen)


def test_the_cost_is_one_pass_and_the_heads():
    here = ready(lr=0.1, epochs=2)
    found = cost.measure(here)
    assert found.feature_seconds > 0
    assert "features of 180 images, one pass" in found.sentences(here)
    assert "head alone" in found.sentences(here)


def test_the_cost_of_a_slow_backbone_is_measured_on_a_few_images(passes, monkeypatch):
    here = ready(lr=0.1, epochs=2)
    clock = iter(range(0, 1000, 2))
    monkeypatch.setattr(features, "perf_counter", lambda: next(clock))
    assert cost.measure(here).feature_seconds == 2 / 8 * 180
    assert passes == [8]


def test_a_run_killed_in_training_resumes_on_the_head(tmp_path, monkeypatch):
    recipe = Recipe().replace(**CNN, lr=0.01, epochs=3)
    whole = api.run(recipe=recipe, runs=tmp_path / "a")
    real, count = Record.write_checkpoint, []

    def killed(self, state, rows, save):
        real(self, state, rows, save)
        count.append(1)
        if len(count) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Record, "write_checkpoint", killed)
    with pytest.raises(KeyboardInterrupt):
        api.run(recipe=recipe, runs=tmp_path / "b")
    again = api.resume(next((tmp_path / "b").iterdir()))
    assert again.metrics == whole.metrics
    for key, value in whole.record.weights().items():
        assert np.array_equal(again.record.weights()[key], value)

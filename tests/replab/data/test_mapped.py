"""Images that stay on disk: the same images, batches and numbers as in memory, and none held there."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import replab
from replab.data.augmented_copy import with_augmented_copy
from replab.data.batches import Batches
from replab.data.images import Images
from replab.data.load import load
from replab.data.mapped import Mapped, ahead, allowed, free, room
from replab.data.split import split_for_search
from replab.errors import DataError
from replab.records.events import Events
from replab.report import write as report
from replab.search.work import Work, received
from replab.settings.recipe import Recipe
from replab.training.prepare import prepare

NORMALISE = ((0.4, 0.5, 0.6), (0.2, 0.25, 0.3))
RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (40, 3, 6, 5), dtype=np.uint8)
LABELS = np.arange(40) % 4
IN_MEMORY = Images(PIXELS, LABELS, tuple("abcd"), (0.5,) * 3, (0.5,) * 3)
ON_DISK = Images(Mapped(PIXELS), LABELS, tuple("abcd"), (0.5,) * 3, (0.5,) * 3)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 50), st.booleans(), st.booleans(), st.sampled_from(["", "flip,crop=1", "mixup=0.5"]), st.data())
def test_the_same_batches_as_in_memory(size, shuffle, channels_last, augment, data):
    chosen = np.array(data.draw(st.lists(st.integers(0, 39), min_size=1, max_size=40, unique=True)))
    settings = {"seed": 3, "shuffle": shuffle, "normalise": NORMALISE, "augment": augment}
    both = [
        Batches(images.subset(chosen), size, channels_last=channels_last, **settings) for images in (IN_MEMORY, ON_DISK)
    ]
    for epoch in (1, 2):
        one, two = (list(batches.epoch(epoch)) for batches in both)
        assert len(one) == len(two)
        for a, b in zip(one, two):
            assert torch.equal(a.x, b.x)
            assert a.x.stride() == b.x.stride()
            assert torch.equal(a.y, b.y)
            assert torch.equal(a.index, b.index)
            assert (a.target is None) == (b.target is None)
            assert a.target is None or torch.equal(a.target, b.target)


def test_whatever_is_done_with_images_in_memory_can_be_done_with_these():
    for make in (
        lambda images: images.split(0.3, 1)[0],
        lambda images: images.take(9, 2),
        lambda images: images.of_classes(["c", "a"]),
        lambda images: images.few(3, 4),
        lambda images: images.subset(slice(3, 20)).subset(np.array([5, 1])),
        lambda images: with_augmented_copy(images, "affine=10:1:0.1", 1),
    ):
        one, two = make(IN_MEMORY), make(ON_DISK)
        assert np.array_equal(one.pixels, np.asarray(two.pixels))
        assert np.array_equal(one.labels, two.labels)
        assert one.spec == two.spec
    for key in (3, slice(2, 9), np.array([4, 4, 0]), (slice(None), 0), (np.array([1, 2]), 1, 2)):
        assert np.array_equal(PIXELS[key], ON_DISK.pixels[key])
    assert all(np.array_equal(a, b) for a, b in zip(PIXELS, ON_DISK.pixels, strict=True))


def test_batches_of_some_of_them():
    one, two = (next(iter(Batches(images, 7).subset(np.array([8, 3, 5])).epoch(0))) for images in (IN_MEMORY, ON_DISK))
    assert torch.equal(one.x, two.x)


def test_a_set_larger_than_its_allowance_stays_on_disk(monkeypatch):
    size = load("digits").train.pixels.nbytes + load("digits").test.pixels.nbytes
    for words, mapped in ((f"{2 * size}", False), (f"{2 * size - 1}B", True), ("0", True), ("1G", False), ("1k", True)):
        monkeypatch.setenv("REPLAB_MEMORY", words)
        assert isinstance(load("digits").train.pixels, Mapped) == mapped, words
    monkeypatch.setenv("REPLAB_MEMORY", "much")
    with pytest.raises(DataError, match="REPLAB_MEMORY must be a size as 4G or 500M, got 'MUCH'"):
        load("digits")
    monkeypatch.delenv("REPLAB_MEMORY")
    assert 0 < allowed() <= free() < 2**50


def test_room_on_disk_vanishes_with_the_array(monkeypatch, tmp_path):
    monkeypatch.setenv("REPLAB_CACHE", str(tmp_path))
    monkeypatch.setenv("REPLAB_MEMORY", "0")
    found = room((3, 2, 2))
    found[:] = 7
    assert found.sum() == 84
    assert not list(tmp_path.iterdir())


def test_what_is_made_ahead_comes_in_order_and_an_error_reaches_who_asks():
    assert list(ahead(lambda n: n * n, range(20))) == [n * n for n in range(20)]
    made = ahead(lambda n: 1 // (3 - n), range(20))
    assert [next(made) for _ in range(3)] == [0, 0, 1]
    with pytest.raises(ZeroDivisionError):
        next(made)


class Heard:
    def __init__(self):
        self.costs = []

    def hear(self, event):
        if event.kind == "cost":
            self.costs.append(event.facts["text"])


def test_a_whole_run_has_the_same_numbers(monkeypatch, tmp_path):
    """Search, training, evaluation; the cost line says which way is taken."""
    monkeypatch.setattr(report, "draw", lambda *_: [])
    found, heard = [], Heard()
    for memory in ("1G", "0"):
        monkeypatch.setenv("REPLAB_MEMORY", memory)
        run = replab.run(
            "cnn", "digits", limit=120, params={"channels": [4, 4, 4]}, epochs=2, trials=2, augment=["flip"],
            search={"min_validation": 20, "max_epochs": 2}, events=Events(heard), runs=tmp_path / memory, workers=1,
        )  # fmt: skip
        found.append((run.record.weights(), run.epochs, run.metrics, run.trials))
    (weights, *numbers), (other, *others) = found
    assert numbers == others
    assert all(np.array_equal(weights[name], other[name]) for name in weights)
    assert heard.costs[0].endswith("kB of images in memory")
    assert heard.costs[1].endswith("kB of images stay on disk and are read by batch")


@pytest.mark.parametrize("model", ["cnn", "mlp"])
def test_workers_get_the_same_images(monkeypatch, tmp_path, model):
    monkeypatch.setenv("REPLAB_MEMORY", "0")
    experiment = prepare(Recipe(model=model, data="digits", limit=60))
    train, validation = split_for_search(experiment.data.train, experiment.recipe.search, 1)
    assert isinstance(train.pixels, Mapped)
    sent = received(Work(experiment, train, validation).describe(tmp_path))
    for one, two in ((sent.train, train), (sent.validation, validation)):
        assert np.array_equal(one.pixels, np.asarray(two.pixels))
        assert np.array_equal(one.labels, two.labels)


def test_what_a_vae_is_judged_by_is_the_same(monkeypatch):
    found = []
    for memory in ("1G", "0"):
        monkeypatch.setenv("REPLAB_MEMORY", memory)
        experiment = prepare(Recipe(model="vae", data="digits", limit=60, lr=1e-3, epochs=1))
        model, data, task = experiment.model().eval(), experiment.data, experiment.task
        fitted = task.finish(experiment.evaluate(model, data.train).outputs, data.train, 1)
        outputs = experiment.evaluate(model, data.test).outputs
        found.append(task.conclude(model, experiment.batches(data.test, model), data, outputs, fitted, 16)[0])
    assert found[0] == found[1]

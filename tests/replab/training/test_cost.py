"""What a run will cost is measured on few steps, whatever the number of images."""

import pytest

from replab.data.load import load
from replab.settings.recipe import Recipe
from replab.training import cost, loop
from replab.training.prepare import prepare

PER_IMAGE = 0.001  # seconds


@pytest.fixture
def steps(monkeypatch):
    """Images of each step that is taken; a step takes a time by them, the first ten times that."""
    taken, now = [], [0.0]

    def train_step(learner, model, batch, *rest):
        taken.append(len(batch.index))
        now[0] += PER_IMAGE * len(batch.index) * (10 if len(taken) == 1 else 1)

    monkeypatch.setattr(loop, "train_step", train_step)
    monkeypatch.setattr(cost, "perf_counter", lambda: now[0])
    return taken


def measured(images: int, batch: int) -> cost.Cost:
    recipe = Recipe(model="mlp", params={"widths": [4]}, batch_size=batch, lr=1e-3, epochs=1)
    return cost.measure(prepare(recipe, None, load("digits", limit=images)))


@pytest.mark.parametrize(
    ("images", "batches"), [(400, [128, 128, 128, 16]), (160, [128, 32]), (600, [128] * 4), (512, [128] * 4)]
)
def test_a_small_last_batch_is_not_taken_for_a_whole_one(steps, images, batches):
    found = measured(images, 128)
    assert steps == batches
    assert found.step_seconds == pytest.approx(128 * PER_IMAGE)


def test_fewer_images_than_a_batch_are_one_step(steps):
    assert measured(60, 128).step_seconds == pytest.approx(10 * 60 * PER_IMAGE)
    assert steps == [60]


def test_slow_steps_are_timed_once(steps, monkeypatch):
    monkeypatch.setattr(cost, "PATIENCE", 0.1)
    assert measured(600, 128).step_seconds == pytest.approx(128 * PER_IMAGE)
    assert steps == [128, 128]

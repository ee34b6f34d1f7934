"""Progressive resizing: sides by hand, images against torch, and a training that resumes bit for bit."""

import pytest
import torch

from replab import api
from replab.data.batches import Batch
from replab.errors import RecipeError
from replab.settings.recipe import Recipe
from replab.training.prepare import prepare
from replab.training.resizing import resized, side

NET = """
from torch import nn

def build(image):
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(4, image.classes))
"""


def test_sides_by_hand():
    assert [side(32, 0.5, epoch, 6) for epoch in range(1, 7)] == [16, 20, 24, 28, 32, 32]
    assert [side(28, 0.25, epoch, 3) for epoch in range(1, 4)] == [8, 18, 28]
    assert side(32, 0.5, 1, 1) == 32  # the last epoch is of whole images


@pytest.mark.parametrize("last", [False, True])
def test_images_are_torchs(last):
    form = torch.channels_last if last else torch.contiguous_format
    x = torch.rand(2, 3, 8, 12).contiguous(memory_format=form)
    batch, recipe = Batch(x, None, torch.arange(2)), Recipe(progressive_resize=0.5, epochs=6)
    found = resized(batch, recipe, 1).x
    torch.testing.assert_close(found, torch.nn.functional.interpolate(x, (4, 6), mode="bilinear", antialias=True))
    assert found.is_contiguous(memory_format=form)
    assert resized(batch, recipe, 6) is resized(batch, Recipe(epochs=6), 1) is batch


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("net") / "net.py"
    path.write_text(NET)
    return f"{path}:build"


def test_a_run_that_is_interrupted_ends_the_same(model, tmp_path):
    from replab.records.events import Events

    settings = {"limit": 60, "lr": 0.01, "epochs": 3, "protocol": "plain", "progressive_resize": 0.5}

    class Stop:
        def hear(self, event):
            if event.kind == "epoch":
                raise KeyboardInterrupt

    whole = api.run(model, runs=tmp_path / "whole", events=Events(), **settings)
    with pytest.raises(KeyboardInterrupt):
        api.run(model, runs=tmp_path / "cut", events=Events(Stop()), **settings)
    (folder,) = (tmp_path / "cut").iterdir()
    again = api.resume(folder, events=Events())
    first, second = whole.record.weights(), again.record.weights()
    assert all((first[name] == second[name]).all() for name in first)
    assert again.epochs == whole.epochs
    other = api.run(model, runs=tmp_path / "other", events=Events(), **{**settings, "progressive_resize": None})
    assert other.epochs[0] != whole.epochs[0]


def test_what_needs_whole_images_is_refused(model):
    with pytest.raises(RecipeError, match=r"needs a model for images of any size, got mlp, which does not take 4x4;"):
        prepare(Recipe(model="mlp", limit=40, progressive_resize=0.5))
    with pytest.raises(RecipeError, match="--progressive-resize is for classifiers, got vae"):
        prepare(Recipe(model="vae", limit=40, progressive_resize=0.5))
    with pytest.raises(RecipeError, match=r"--progressive-resize needs the images, got 0\.5 and features kept by"):
        Recipe(freeze=True, progressive_resize=0.5)

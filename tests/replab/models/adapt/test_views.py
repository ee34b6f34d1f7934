"""Test-time augmentation against the views by hand."""

import pytest
import torch
from torch import nn

from replab.errors import RecipeError
from replab.models.adapt.views import viewed
from replab.settings.recipe import Recipe
from replab.training.prepare import prepare


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(2 * 4 * 5, 3))


def test_flip_and_multicrop_by_hand():
    model, x = net(), torch.randn(6, 2, 4, 5)
    both = (model(x) + model(x.flip(3))) / 2
    torch.testing.assert_close(viewed(model, "flip")(x), both)
    padded = nn.functional.pad(x, (1, 1, 1, 1), mode="reflect")
    moved = [padded[:, :, 0:4, 0:5], padded[:, :, 2:6, 2:7]]
    shifted = sum((model(m) + model(m.flip(3))) / 2 for m in moved) / 2
    torch.testing.assert_close(viewed(model, "multicrop")(x), (both + shifted) / 2)
    assert viewed(model, "none") is model


def test_a_run_tests_by_its_views_and_watches_by_the_plain_image():
    ready = prepare(Recipe(model="mlp", lr=1e-2, epochs=1, limit=200, tta="flip"))
    model = ready.model()
    row, _ = next(ready.fit(model, watch={"test": ready.data.test}))
    plain = ready.evaluate(model, ready.data.test, ready.recipe.replace(tta="none"))
    assert row["test_loss"] == plain.metrics["loss"]
    assert ready.evaluate(model, ready.data.test).metrics["loss"] != plain.metrics["loss"]


def test_refusals():
    with pytest.raises(RecipeError, match="--tta needs the images, got flip"):
        Recipe(tta="flip", freeze=True)
    with pytest.raises(RecipeError, match="--tta is for classifiers"):
        prepare(Recipe(model="vae", tta="flip", limit=40))

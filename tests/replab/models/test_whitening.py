"""The whitening layer: what it gives is white, never trains, and goes with the model."""

import numpy as np
import pytest
import torch
from torch import nn

from replab.errors import RecipeError
from replab.models.parts.whitening import Whitening, hold_biases
from replab.settings.recipe import Recipe
from replab.training.prepare import prepare

MEAN, STD = (0.3, 0.5), (0.2, 0.4)


def pictures(count=200):
    """Smooth pictures: neighbouring pixels are alike, so there is something to whiten."""
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(count, 2, 10, 10)).cumsum(2).cumsum(3)
    return np.clip(128 + 8 * wide, 0, 255).astype(np.uint8)


def test_patches_become_uncorrelated():
    pixels, layer = pictures(), Whitening(2, 2)
    layer.fit_patches(pixels, MEAN, STD)
    x = (torch.from_numpy(pixels) / 255 - torch.tensor(MEAN).view(2, 1, 1)) / torch.tensor(STD).view(2, 1, 1)
    values = layer(x).detach().double()  # (N, 16, 9, 9): eight directions, then their negatives
    assert values.shape[1:] == (16, 9, 9)
    torch.testing.assert_close(values[:, 8:], -values[:, :8])
    flat = values[:, :8].permute(1, 0, 2, 3).flatten(1)
    second = flat @ flat.T / flat.shape[1]
    assert (second - second.diag().diag()).abs().max() < 1e-3
    assert (second.diag() > 0.5).all()  # 1 but for the epsilon
    assert (second.diag() <= 1 + 1e-4).all()


def test_only_its_bias_trains_and_only_for_three_epochs():
    layer = Whitening(1, 3)
    assert [name for name, _ in layer.named_parameters()] == ["bias"]
    assert set(layer.state_dict()) == {"weight", "bias"}
    for epoch, trains in ((1, True), (3, True), (4, False), (2, True)):
        hold_biases(nn.Sequential(layer), epoch)
        assert layer.bias.requires_grad is trains


def test_it_stands_before_any_classifier():
    ready = prepare(Recipe(model="cnn", data="digits", whiten=2, lr=1e-3, epochs=5, limit=200, size=16))
    model = ready.model()
    first = model[0].weight.clone()
    biases = []
    for row, _ in ready.fit(model):
        assert np.isfinite(row["train_loss"])
        biases.append(model[0].bias.detach().clone())
    assert torch.equal(model[0].weight, first)
    assert not torch.equal(biases[1], biases[2])
    assert torch.equal(biases[2], biases[4])


def test_refusals():
    with pytest.raises(RecipeError, match="--whiten cannot be combined with --mup"):
        Recipe(whiten=2, mup=True)
    with pytest.raises(RecipeError, match="--whiten is for classifiers"):
        prepare(Recipe(model="vae", whiten=2, limit=40))

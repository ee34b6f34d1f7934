"""Diffusion: the schedule, the loss by hand, a sampler that a perfect network leads back to the image, a whole run."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from generative_models import not_blank

from replab import api
from replab.data.batches import Batch
from replab.data.images import ImageSpec
from replab.errors import ModelError
from replab.models.registry import MODELS
from replab.models.zoo.ddpm import cosine
from replab.tasks.denoise import Denoise

DIGITS = ImageSpec(1, 8, 8, 10)
SMALL = {"width": 8, "levels": 50, "draws": 5}


@pytest.fixture
def model():
    torch.manual_seed(0)
    return MODELS.get("ddpm")(DIGITS, **SMALL)


def test_signal_falls_from_almost_all_to_almost_none():
    signal = cosine(1000)
    assert signal[0] > 0.999
    assert 0 < signal[-1] < 1e-3
    assert (signal.diff() < 0).all()
    # 2102.09672: cos² of (t/T + s) / (1 + s) π/2, as a share of that at 0
    middle = np.cos((0.5 + 0.008) / 1.008 * np.pi / 2) ** 2 / np.cos(0.008 / 1.008 * np.pi / 2) ** 2
    assert float(signal[499]) == pytest.approx(middle, rel=1e-5)


def test_loss_by_hand(model):
    x, noise, level = torch.rand(3, 1, 8, 8) * 2 - 1, torch.randn(3, 1, 8, 8), torch.tensor([0, 20, 49])
    seen = torch.stack([s.sqrt() * i + (1 - s).sqrt() * n for s, i, n in zip(model.signal[level], x, noise)])
    expected = ((model(seen, level) - noise) ** 2).mean((1, 2, 3))
    torch.testing.assert_close(Denoise(torch).error(model, x, level, noise), expected)


def test_a_network_that_knows_the_noise_leads_back_to_the_image(model):
    image, noise = torch.rand(2, 1, 8, 8) * 2 - 1, torch.randn(2, 1, 8, 8)

    def knows(x, level):
        signal = model.signal[level].view(-1, 1, 1, 1)
        return (x - signal.sqrt() * image) / (1 - signal).sqrt()

    model.forward = knows
    start = model.noised(image, torch.full((2,), model.first), noise)
    torch.testing.assert_close(model.generate(start.flatten(1)), image, atol=1e-4, rtol=0)


@pytest.mark.parametrize("levels", [2, 50, 1000])
def test_sampling_begins_where_errors_of_rounding_stay_small(levels):
    model = MODELS.get("ddpm")(DIGITS, width=8, levels=levels, draws=2)
    x, level = torch.randn(2, 1, 8, 8), torch.full((2,), model.first)
    noise = x - 1e-3 * torch.randn_like(x)  # nearly all of it is noise, as a trained network says
    moved = model.clean(x, level, noise + 1e-7) - model.clean(x, level, noise)
    assert moved.abs().max() < 5e-5


def test_an_images_loss_does_not_depend_on_its_batch(model):
    x, index = torch.rand(6, 1, 8, 8) * 2 - 1, np.arange(6)
    torch.nn.init.normal_(model.network.leave[-1].weight)  # it starts at zero, where every image's answer is the same
    model.eval()
    whole = Denoise(torch).outputs(model, Batch(x, None, index))
    part = Denoise(torch).outputs(model, Batch(x[3:5], None, index[3:5]))
    torch.testing.assert_close(part["loss"], whole["loss"][3:5])
    assert torch.equal(part["level"], whole["level"][3:5])


@pytest.mark.parametrize(
    ("params", "image", "message"),
    [
        ({}, ImageSpec(1, 30, 30, 10), "a height and width that 4 divides, got 30x30; --size 28 resizes"),
        ({"width": 12}, DIGITS, "a width that 8 divides, got 12; --set width=8"),
        ({"draws": 30, "levels": 20}, DIGITS, r"at most as many draws as levels \(20\), got 30"),
    ],
)
def test_what_is_refused(params, image, message):
    with pytest.raises(ModelError, match=message):
        MODELS.get("ddpm")(image, **params)


def test_a_run_from_end_to_end(tmp_path):
    run = api.run("ddpm", limit=100, lr=1e-3, epochs=2, params=SMALL, runs=tmp_path, quiet=True)
    assert run.epochs[-1]["train_loss"] < run.epochs[0]["train_loss"]
    assert {"loss_low_noise", "loss_high_noise", "diversity"} <= set(run.metrics)
    not_blank(run.figures[name].path for name in ("samples", "denoised", "interpolation", "curves"))
    assert np.array_equal(run.generate(2, seed=1), run.generate(2, seed=1))
    assert "squared error of the noise" in (run.folder / "report.md").read_text()

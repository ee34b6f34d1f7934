"""VQ-VAE: losses by hand, gradients past the codebook, averages that move in training alone, a blind prior."""

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
from replab.tasks.quantise import Quantise, perplexity

DIGITS = ImageSpec(1, 8, 8, 10)
SMALL = {"codes": 6, "width": 4}


def model_and_batch(**params):
    torch.manual_seed(0)
    model = MODELS.get("vq-vae")(DIGITS, **SMALL, **params)
    return model, Batch(torch.rand(5, 1, 8, 8), None, torch.arange(5))


@pytest.mark.parametrize("update", ["ema", "gradient"])
def test_loss_by_hand(update):
    model, batch = model_and_batch(update=update, commitment=0.5)
    terms, encoded, index = Quantise(torch).terms(model, batch)
    with torch.no_grad():
        flat = encoded.permute(0, 2, 3, 1).reshape(-1, 4)
        nearest = torch.cdist(flat, model.codebook).argmin(1)
        assert torch.equal(index.flatten(), nearest)
        gap = ((flat - model.codebook[nearest]) ** 2).sum(1).view(5, -1).sum(1)
        made = model(batch.x)
        expected = ((made - batch.x) ** 2).flatten(1).sum(1) + (0.5 + (update == "gradient")) * gap
    torch.testing.assert_close(terms["loss"], expected)


def test_the_gradient_passes_the_codebook_and_each_part_learns_alone():
    model, batch = model_and_batch(update="gradient")
    task = Quantise(torch)
    parts = task.parts(model)
    for part, loss, _ in task.losses(model, batch):
        model.zero_grad()
        loss.mean().backward()
        taught = {id(p) for p in model.parameters() if p.grad is not None and p.grad.any()}
        assert taught <= {id(p) for p in parts[part]}
        missing = {id(p) for p in parts[part]} - taught
        assert not missing or part == "prior"  # an embedding's row, or a mask's corner, may have nothing to learn from


def test_codes_move_in_training_only_and_towards_what_chose_them():
    model, batch = model_and_batch()
    task, before = Quantise(torch), model.codebook.clone()
    task.outputs(model.eval(), batch)
    assert torch.equal(model.codebook, before)
    model.train().counts.fill_(1)
    _, encoded, index = task.terms(model, batch)
    next(task.losses(model, batch))
    used = index.unique()
    points = encoded.detach().permute(0, 2, 3, 1).reshape(-1, 4)
    for code in used:
        mean = points[index.flatten() == code].mean(0)
        assert (model.codebook[code] - mean).norm() < (before[code] - mean).norm()


def test_codes_that_nothing_chooses_start_anew_at_points_of_the_batch():
    model, batch = model_and_batch()
    with torch.no_grad():
        points = model.encoder(batch.x).permute(0, 2, 3, 1).reshape(-1, 4)
    next(Quantise(torch).losses(model.train(), batch))  # the first step: all of them
    assert torch.cdist(model.codebook, points).min(1).values.max() < 1e-5
    model.counts[2], model.codebook[2] = 0.01, 100.0
    next(Quantise(torch).losses(model, batch))
    assert torch.cdist(model.codebook[2:3], points).min() < 1e-5
    assert (model.counts > 0.9).all()


def test_the_prior_sees_only_what_comes_before():
    model, _ = model_and_batch()
    index = torch.randint(6, (1, 4, 4))
    other = index.clone()
    other[0, 2, 1] = (other[0, 2, 1] + 1) % 6
    with torch.no_grad():
        changed = (model.prior(index) - model.prior(other)).abs().sum(1)[0].flatten() > 0
    assert not changed[: 2 * 4 + 2].any()  # up to the place itself
    assert changed[2 * 4 + 2]


def test_perplexity():
    assert perplexity(np.array([5, 5, 0, 5])) == pytest.approx(3)
    assert perplexity(np.array([7])) == pytest.approx(1)


def test_sizes_that_4_does_not_divide_are_refused():
    with pytest.raises(ModelError, match="vq-vae needs a height and width that 4 divides, got 30x30; --size 28"):
        MODELS.get("vq-vae")(ImageSpec(1, 30, 30, 10))


def test_a_run_from_end_to_end(tmp_path):
    run = api.run("vq-vae", limit=100, lr=1e-3, epochs=2, params=SMALL, runs=tmp_path, quiet=True)
    assert {"train_loss", "train_mse", "train_commitment", "train_prior_loss", "test_perplexity"} <= set(run.epochs[-1])
    assert 1 <= run.metrics["perplexity"] <= 6
    not_blank(run.figures[name].path for name in ("samples", "reconstructions", "codebook", "curves"))
    assert run.generate(2, seed=1).shape == (2, 1, 8, 8)

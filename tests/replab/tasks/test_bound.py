"""Bounds on log p(x, y): exact where the model's are known, an image's own whatever batch it is in."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from generative_models import LinearGaussian

from replab.data.batches import Batches
from replab.data.images import Images, ImageSpec
from replab.models.registry import MODELS
from replab.tasks import bound

PRIOR = np.log(np.full(3, 1 / 3))


@pytest.fixture
def images():
    rng = np.random.default_rng(0)
    return Images(rng.integers(0, 256, (7, 1, 2, 2), dtype=np.uint8), np.arange(7) % 3, ("a", "b", "c"), (0.0,), (1.0,))


def test_exact_on_a_linear_gaussian_model(images):
    model = LinearGaussian().orthogonal()
    scores, _ = bound.score_classes(model, Batches(images, 4), PRIOR, samples=5, seed=3)
    with torch.no_grad():
        exact = model.log_likelihood(torch.from_numpy(images.pixels / 255).float())
    np.testing.assert_allclose(scores, exact.numpy() + PRIOR, rtol=1e-4)


def test_more_samples_come_nearer_where_the_posterior_is_not_exact(images):
    model = LinearGaussian()
    with torch.no_grad():
        # columns far from orthogonal: a diagonal posterior is a poor approximation
        model.weight.copy_(torch.tensor([[1.0, 1.0], [1.0, 0.7], [1.0, 0.4], [1.0, 0.8]]))
        exact = model.log_likelihood(torch.from_numpy(images.pixels / 255).float()).numpy() + PRIOR
    gaps = [
        (exact - bound.score_classes(model, Batches(images, 4), PRIOR, samples=k, seed=3)[0]).mean() for k in (1, 500)
    ]
    assert gaps[0] > 3 * abs(gaps[1])
    assert gaps[0] > 0.1


def test_an_image_has_its_score_whatever_batch_it_is_in():
    torch.manual_seed(0)
    model = MODELS.get("cvae")(ImageSpec(1, 8, 8, 3), latent=4, samples=3).eval()
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (6, 1, 8, 8), dtype=np.uint8)
    images = Images(pixels, np.arange(6) % 3, ("a", "b", "c"), (0.0,), (1.0,))
    found = [bound.score_classes(model, Batches(images, size), PRIOR, 3, seed=1) for size in (1, 4, 6)]
    for scores, losses in found[1:]:
        np.testing.assert_allclose(scores, found[0][0], rtol=1e-5)
        np.testing.assert_allclose(losses, found[0][1], rtol=1e-5)
    assert (np.abs(np.diff(found[0][0], axis=1)) > 0).all()  # the label does change the score


def test_noise_is_the_images_own():
    like = torch.zeros(1)
    both = bound.noise([3, 8], (2, 4), 1, like)
    assert torch.equal(both[1:], bound.noise([8], (2, 4), 1, like))
    assert not torch.equal(both[:1], bound.noise([3], (2, 4), 2, like))


def test_the_published_rule_names_whole_batches():
    losses = np.array([[1.0, 2.0], [5.0, 1.0], [0.0, 3.0], [0.0, 2.0]])
    labels = np.array([0, 1, 0, 0])
    found = bound.class_accuracies(-losses, losses, labels, batch_size=2)
    assert found["one_sample_accuracy"] == found["accuracy"] == 1.0
    assert found["batch_total_accuracy"] == 0.75  # the first batch's totals are 6 and 3: both are called 1


def test_divergence_by_hand():
    mean, logvar = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, np.log(4.0)]])
    assert bound.divergence(mean, logvar).item() == pytest.approx(0.5 * 1 + 0.5 * (4 - 1 - np.log(4.0)))


def test_bits_per_dimension_of_a_known_density(images):
    """With an exact posterior the bound is the density; -log2 of it times a pixel's step, a dimension."""
    model = LinearGaussian().orthogonal()
    batches = Batches(images, 4)
    found = bound.bits_per_dimension(model, batches, model.beta / 2, 5, 4, seed=0)
    with torch.no_grad():
        x = torch.from_numpy(images.pixels[:5] / 255).float()
        exact = model.log_likelihood(x)[range(5), images.labels[:5]].numpy()
    bits = -(exact.mean() / 4 + np.log(1 / 255)) / np.log(2)
    assert found["bits_per_dim"] == pytest.approx(bits, rel=1e-4)
    assert found["bits_per_dim_fitted"] == pytest.approx(bits, rel=1e-4)


def test_swapping_the_label_costs_what_the_other_labels_lose():
    losses = np.array([[1.0, 3.0, 5.0], [4.0, 2.0, 2.0]])
    found = bound.class_accuracies(-losses, losses, np.array([0, 1]), 2)
    assert found["label_swap"] == pytest.approx(((3 + 5) / 2 - 1 + (4 + 2) / 2 - 2) / 2)
    same = bound.class_accuracies(np.zeros((2, 3)), np.ones((2, 3)), np.array([0, 1]), 2)
    assert same["label_swap"] == pytest.approx(0)


def test_bits_of_a_gaussian_by_hand():
    """At its own variance: half log2(2 pi e variance), in steps of 1/255."""
    bits = bound.gaussian_bits(0.04, 0.04)
    assert bits == pytest.approx(0.5 * np.log2(2 * np.pi * np.e * 0.04) + np.log2(255))
    assert bound.gaussian_bits(0.0, 0.0) == bound.gaussian_bits(0.0, 1e-6)

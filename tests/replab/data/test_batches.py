"""Batches: every image once, the right numbers, and epochs that depend on (seed, epoch) only."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from replab.data.batches import Batches
from replab.data.images import Images
from replab.errors import RecipeError

NORMALISE = ((0.4, 0.5, 0.6), (0.2, 0.25, 0.3))


def random_images(n, channels=3, side=8, labelled=True):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (n, channels, side, side + 1), dtype=np.uint8)
    labels = rng.integers(0, 4, n) if labelled else None
    return Images(pixels, labels, tuple("abcd") if labelled else (), (0.5,) * channels, (0.5,) * channels)


def same(a, b):
    return len(a) == len(b) and all(torch.equal(x, y) for one, two in zip(a, b) for x, y in zip(one[:3], two[:3]))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(1, 12), st.booleans(), st.integers(-5, 2**40), st.integers(0, 99))
def test_every_image_once(n, batch_size, shuffle, seed, epoch):
    images = random_images(n)
    batches = Batches(images, batch_size, seed=seed, shuffle=shuffle)
    found = list(batches.epoch(epoch))
    assert len(found) == len(batches)
    index = torch.cat([batch.index for batch in found]).numpy()
    assert np.array_equal(np.sort(index), np.arange(n))
    assert shuffle or np.array_equal(index, np.arange(n))
    np.testing.assert_allclose(torch.cat([b.x for b in found]), images.pixels[index] / 255, rtol=1e-6, atol=1e-7)
    assert np.array_equal(torch.cat([b.y for b in found]), images.labels[index])
    sizes = [len(batch.x) for batch in found]
    assert all(size == batch_size for size in sizes[:-1])
    if shuffle and batch_size > 1 and n > 1:
        assert 1 < sizes[-1] <= batch_size + 1
    else:
        assert sizes[-1] <= batch_size


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("augment", ["", "flip,crop=2,cutout=3,affine"])
def test_memory_order_changes_no_number(channels_last, augment):
    images = random_images(20)
    plain = Batches(images, 6, shuffle=True, normalise=NORMALISE, augment=augment)
    other = Batches(images, 6, shuffle=True, normalise=NORMALISE, augment=augment, channels_last=channels_last)
    for a, b in zip(plain.epoch(1), other.epoch(1)):
        torch.testing.assert_close(a.x, b.x)
        order = torch.channels_last if channels_last else torch.contiguous_format
        assert b.x.is_contiguous(memory_format=order)


def test_normalised_as_torchvision_does():
    from replab.backends.torchvision_cpu import torchvision

    images = random_images(5)
    (batch,) = Batches(images, 5, normalise=NORMALISE).epoch(0)
    expected = torchvision.transforms.functional.normalize(torch.from_numpy(images.pixels) / 255, *NORMALISE)
    torch.testing.assert_close(batch.x, expected)


def test_an_epoch_is_the_same_with_or_without_those_before():
    images = random_images(30)
    make = lambda: Batches(images, 7, seed=5, shuffle=True, augment="flip,crop,affine")  # noqa: E731
    through = make()
    epochs = [list(through.epoch(n)) for n in range(4)]
    assert same(epochs[3], list(make().epoch(3)))
    next(iter(through.epoch(1)))  # one broken off leaves no trace
    assert same(epochs[2], list(through.epoch(2)))
    assert not torch.equal(epochs[0][0].index, epochs[1][0].index)
    other = Batches(images, 7, seed=6, shuffle=True)
    assert not torch.equal(next(iter(other.epoch(0))).index, epochs[0][0].index)


def test_two_epochs_at_once_do_not_mix():
    batches = Batches(random_images(12), 4, seed=1, shuffle=True, augment="flip,cutout=2")
    alone = list(batches.epoch(0)), list(batches.epoch(1))
    pairs = list(zip(batches.epoch(0), batches.epoch(1)))
    assert same(alone[0], [a for a, _ in pairs])
    assert same(alone[1], [b for _, b in pairs])


def test_the_global_generator_is_untouched():
    before = torch.get_rng_state()
    list(Batches(random_images(10), 3, shuffle=True, augment="flip,crop,cutout,affine").epoch(0))
    assert torch.equal(before, torch.get_rng_state())


def test_batches_can_be_changed_without_changing_the_images():
    images = random_images(6)
    before = images.pixels.copy()
    batches = Batches(images, 6)
    (batch,) = batches.epoch(0)
    batch.x.zero_()
    batch.y.zero_()
    (again,) = batches.epoch(0)
    assert again.x.max() > 0
    assert np.array_equal(again.y, images.labels)
    assert np.array_equal(images.pixels, before)


@pytest.mark.parametrize("channels_last", [False, True])
def test_a_subset_is_that_of_the_images(channels_last):
    images, which = random_images(9), np.array([7, 2, 5])
    given = {"normalise": NORMALISE, "channels_last": channels_last}
    found = list(Batches(images, 2, **given).subset(which).epoch(0))
    assert same(found, list(Batches(images.subset(which), 2, **given).epoch(0)))


def test_unlabelled_images_and_other_types():
    (batch,) = Batches(random_images(4, channels=1, labelled=False), 9, dtype=torch.bfloat16).epoch(0)
    assert batch.y is None
    assert batch.x.dtype == torch.bfloat16
    assert batch.x.shape == (4, 1, 8, 9)


@pytest.mark.filterwarnings("error")
def test_views_read_only_and_empty_sets():
    images = random_images(10)
    images.pixels.flags.writeable = False
    (batch,) = Batches(images.subset(slice(2, 9, 3)), 5).epoch(0)
    np.testing.assert_allclose(batch.x, images.pixels[2:9:3] / 255, rtol=1e-6)
    empty = Batches(images.subset(slice(0, 0)), 5, shuffle=True)
    assert len(empty) == len(list(empty.epoch(0))) == 0


def test_impossible_arguments():
    with pytest.raises(RecipeError, match="batch_size must be at least 1, got 0"):
        Batches(random_images(3), 0)
    with pytest.raises(RecipeError, match="3 means and stds"):
        Batches(random_images(3), 2, normalise=((0.5,), (0.5,)))

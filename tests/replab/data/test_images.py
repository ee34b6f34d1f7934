"""Images and their splits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replab.data.images import Images, moments, statistics, stratified
from replab.errors import DataError


def some_images(labels, channels=1, side=2):
    n = len(labels)
    pixels = np.arange(n, dtype=np.uint8).reshape(n, 1, 1, 1).repeat(channels, 1)
    classes = tuple("abcdefgh"[: max(labels, default=-1) + 1])
    pixels = pixels.repeat(side, 2).repeat(side, 3)
    return Images(pixels, np.array(labels, np.int64), classes, (0.5,) * channels, (0.5,) * channels)


labels_lists = st.lists(st.integers(0, 4), min_size=1, max_size=80)


@settings(max_examples=30, deadline=None)
@given(labels_lists, st.floats(0.05, 0.95), st.integers(0, 2**32))
def test_splits_are_disjoint_complete_and_stratified(labels, fraction, seed):
    images = some_images(labels)
    rest, part = images.split(fraction, seed)
    first = [set(half.pixels[:, 0, 0, 0].tolist()) for half in (rest, part)]
    assert not first[0] & first[1]
    assert first[0] | first[1] == set(range(len(labels)))
    for label in set(labels):
        size, got = labels.count(label), int((part.labels == label).sum())
        assert (got == 0 and size == 1) or (1 <= got < size and abs(got - fraction * size) <= 1)
    again = images.split(fraction, seed)[1]
    assert np.array_equal(part.pixels, again.pixels)
    assert all(labels[p] == label for p, label in zip(part.pixels[:, 0, 0, 0], part.labels))


@settings(max_examples=20, deadline=None)
@given(labels_lists, st.integers(1, 90), st.integers(0, 100))
def test_take_gives_n_images_but_one_of_each_class(labels, n, seed):
    taken = some_images(labels).take(n, seed)
    assert set(taken.labels) == set(labels)
    assert min(n, len(labels)) <= len(taken) <= max(n, min(n, len(labels)) + len(set(labels)) - 1)


def test_take_is_exact_where_classes_are_even():
    assert len(some_images([0, 1, 2] * 20).take(31, 0)) == 31


def test_a_split_depends_on_the_seed():
    labels = np.zeros(100, np.int64)
    assert not np.array_equal(stratified(labels, 100, 0.2, 1), stratified(labels, 100, 0.2, 2))


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 600), st.integers(1, 3), st.integers(0, 1000))
def test_statistics_are_numpys(n, channels, seed):
    pixels = np.random.default_rng(seed).integers(0, 256, (n, channels, 3, 2), dtype=np.uint8)
    mean, std = statistics(moments(pixels), 6)
    np.testing.assert_allclose(mean, (pixels / 255).mean((0, 2, 3)))
    np.testing.assert_allclose(std, np.maximum((pixels / 255).std((0, 2, 3)), 1 / 255), rtol=1e-6)


def test_a_blank_channel_can_be_divided_by():
    assert statistics(moments(np.full((3, 1, 2, 2), 7, np.uint8)), 4)[1] == (1 / 255,)


def test_images_refuse_floats_and_missing_labels():
    with pytest.raises(DataError, match="uint8"):
        Images(np.zeros((1, 1, 2, 2)), None, (), (0.0,), (1.0,))
    with pytest.raises(DataError, match="1 labels"):
        Images(np.zeros((2, 1, 2, 2), np.uint8), np.zeros(1, np.int64), ("a",), (0.0,), (1.0,))

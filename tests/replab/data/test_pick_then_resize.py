"""Chosen images of a published set are chosen before they are resized: the same images, without resizing all others."""

import os
from pathlib import Path

import numpy as np
import pytest
from published_fakes import write_mnist

from replab.data.decode import archives
from replab.data.load import load
from replab.data.sources.mnist import mnist


@pytest.mark.parametrize("chosen", [{"limit": 20}, {"per_class": 2}, {"classes": ("3", "5"), "limit": 10}])
def test_the_same_images_either_way(monkeypatch, chosen):
    write_mnist(Path(os.environ["REPLAB_DATA"]), train=60, test=30)
    few = load("mnist", size=12, **chosen)
    monkeypatch.setattr(archives, "resized_images", None)  # not asked again
    monkeypatch.setattr(mnist, "picks", False)
    all_resized = load("mnist", size=12, **chosen)
    for one, two in ((few.train, all_resized.train), (few.test, all_resized.test)):
        assert np.array_equal(one.pixels, two.pixels)
        assert np.array_equal(one.labels, two.labels)
        assert (one.mean, one.std) == (two.mean, two.std)
    assert few.fingerprint == all_resized.fingerprint

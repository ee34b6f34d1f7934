"""Some classes alone, and few training images of each."""

import numpy as np
import pytest

from replab.data.load import load
from replab.errors import DataError, UnknownName


def test_some_classes_are_numbered_anew_and_keep_their_images():
    whole, some = load("digits"), load("digits", classes=["7", "2"])
    assert some.train.classes == ("7", "2")
    for part, all_ in ((some.train, whole.train), (some.test, whole.test)):
        for number, digit in enumerate((7, 2)):
            assert np.array_equal(part.pixels[part.labels == number], all_.pixels[all_.labels == digit])
    assert some.fingerprint != whole.fingerprint
    assert some.train.mean == whole.train.mean


def test_few_of_each_class_for_training_and_all_for_testing():
    whole, few, other = load("digits"), load("digits", per_class=5), load("digits", per_class=5, seed=1)
    assert np.bincount(few.train.labels).tolist() == [5] * 10
    assert len(few.test) == len(whole.test)
    assert len({d.fingerprint for d in (whole, few, other)}) == 3
    assert not np.array_equal(few.train.pixels, other.train.pixels)
    assert np.array_equal(load("digits", per_class=5).train.pixels, few.train.pixels)


def test_classes_by_place_and_what_is_none(tmp_path):
    from PIL import Image

    for name in ("cat", "dog", "owl"):
        (tmp_path / name).mkdir()
        for i in range(4):
            Image.new("L", (8, 8), 10 * i).save(tmp_path / name / f"{i}.png")
    assert load(str(tmp_path), classes=["owl", "0"]).train.classes == ("owl", "cat")
    with pytest.raises(UnknownName, match="Did you mean 'cat'"):
        load(str(tmp_path), classes=["cta", "dog"])
    with pytest.raises(DataError, match="at least two different classes"):
        load(str(tmp_path), classes=["cat", "0"])

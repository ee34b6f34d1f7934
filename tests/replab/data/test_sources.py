"""Every source keeps one contract, and names are listed without torch."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from published_fakes import WRITERS
from sklearn.datasets import load_digits

from replab.data.load import load, stand_in
from replab.data.source import source
from replab.errors import DataError, UnknownName


@pytest.fixture
def data_root():
    return Path(os.environ["REPLAB_DATA"])


def test_every_source_is_covered_here():
    assert set(source.names()) == set(WRITERS)


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_contract(name, data_root):
    WRITERS[name](data_root)
    data = load(name)
    assert data.name == name
    assert source.describe(name)
    assert len(data.train) > len(data.test) > 0
    for half in (data.train, data.test):
        assert half.pixels.dtype == np.uint8
        assert half.pixels.ndim == 4
        assert half.labels.dtype == np.int64
        assert half.labels.shape == (len(half),)
        assert 0 <= half.labels.min() <= half.labels.max() < len(half.classes)
        assert half.classes == data.train.classes
        assert len(half.mean) == len(half.std) == half.pixels.shape[1]
        assert half.mean == data.train.mean
        assert all(s > 0 for s in half.std)
    assert stand_in(name).spec == data.spec
    again = load(name, seed=1)
    assert again.fingerprint == data.fingerprint  # none of them splits by the seed
    assert np.array_equal(again.test.pixels, data.test.pixels)


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_resizing_and_limiting(name, data_root):
    WRITERS[name](data_root)
    whole, small = load(name), load(name, size=12, limit=4)
    assert small.train.pixels.shape[1:] == (whole.spec.channels, 12, 12)
    assert len(small.train) == max(4, len(set(whole.train.labels)))
    assert len(small.fingerprint) == 64
    assert len({small.fingerprint, whole.fingerprint, load(name, size=12).fingerprint}) == 3


def test_digits_are_the_full_range_and_evenly_split():
    data = load("digits")
    assert (len(data.train), len(data.test)) == (1438, 359)
    assert (data.train.pixels.min(), data.train.pixels.max()) == (0, 255)
    counts = np.bincount(data.test.labels) / np.bincount(np.r_[data.train.labels, data.test.labels])
    assert np.all(np.abs(counts - 0.2) < 0.01)


def test_digits_are_scikit_learns():
    data, theirs = load("digits"), load_digits()
    ours = sorted(zip(data.train.pixels.reshape(-1, 64).tolist(), data.train.labels.tolist()))
    ours += sorted(zip(data.test.pixels.reshape(-1, 64).tolist(), data.test.labels.tolist()))
    pixels = np.round(theirs.data * (255 / 16)).astype(int)
    assert sorted(ours) == sorted(zip(pixels.tolist(), theirs.target.tolist()))


def test_unknown_names_and_paths():
    with pytest.raises(UnknownName, match=r"'minst'. Did you mean 'mnist'"):
        load("minst")
    with pytest.raises(DataError, match=r"no folder or zip of images at faces\.zip"):
        load("faces.zip")
    with pytest.raises(UnknownName, match="nothing-like-it"):
        source.describe("nothing-like-it")


@pytest.mark.parametrize("wrong", [{"size": 0}, {"limit": 0}])
def test_impossible_numbers(wrong):
    with pytest.raises(DataError, match="at least 1"):
        load("digits", **wrong)


def test_names_are_listed_without_heavy_imports():
    code = (
        "import sys; from replab.data.source import source; [source.describe(n) for n in source.names()];"
        "print([m for m in ('torch', 'torchvision', 'sklearn', 'scipy', 'PIL') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"

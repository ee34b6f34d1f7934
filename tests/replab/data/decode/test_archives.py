"""The published sets: read exactly from their real formats, downloaded whole or not, never executed."""

import hashlib
import io
import os
import pickle
import subprocess
import sys
import urllib.request
from pathlib import Path
from threading import Event
from typing import ClassVar
from urllib.error import URLError

import numpy as np
import pytest
from published_fakes import (
    CIFAR10,
    CIFAR100,
    write_cifar,
    write_cifar_archive,
    write_cifar_binary,
    write_mnist,
    write_svhn,
)

from replab.data import downloads, source
from replab.data.decode import reach
from replab.data.load import load
from replab.data.sources.cifar10 import CONSTANTS as CIFAR10_CONSTANTS
from replab.errors import DataError

FETCH = downloads.fetch  # the tests of this folder have another in its place: there is no network


@pytest.fixture
def root():
    return Path(os.environ["REPLAB_DATA"])


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_mnist_pixels_and_constants(root, suffix):
    written = write_mnist(root, suffix=suffix)
    train = load("mnist").train
    assert np.array_equal(train.pixels[:, 0], written)
    assert train.labels.tolist() == [*range(10)] * 2
    assert (train.mean, train.std) == ((0.1307,), (0.3081,))


@pytest.mark.parametrize(("name", "form"), [("cifar10", CIFAR10), ("cifar100", CIFAR100)])
@pytest.mark.parametrize("packed", [False, True])
def test_cifar_pixels(root, name, form, packed):
    if packed:
        written = write_cifar_archive(root / f"{'-'.join(form[0].split('-')[:2])}-python.tar.gz", *form)
    else:
        written = write_cifar(root, *form)
    train = load(name).train
    assert np.array_equal(train.pixels.reshape(len(written), -1), written)
    assert train.classes[:2] == ("class0", "class1")
    assert len(train.classes) == form[1]


def cifar10_forms(root):
    write_cifar_archive(root / "cifar-10-python.tar.gz", *CIFAR10)
    write_cifar_binary(root, "cifar-10-binary.tar.gz")
    write_cifar_binary(root)
    return write_cifar(root, *CIFAR10)


@pytest.mark.parametrize(
    "form", ["cifar-10-python.tar.gz", "cifar-10-binary.tar.gz", "cifar-10-batches-bin", "cifar-10-batches-py"]
)
def test_cifar10_in_every_form_by_name_and_by_path(root, tmp_path, form):
    written = cifar10_forms(tmp_path)
    (tmp_path / form).rename(root / form)
    by_path = load(str(root / form))
    for data in (load("cifar10"), by_path):
        assert data.name == "cifar10"
        assert np.array_equal(data.train.pixels.reshape(len(written), -1), written)
        assert np.bincount(data.train.labels).tolist() == [5] * 10
        assert data.train.classes[:2] == ("class0", "class1")
        assert (data.train.mean, data.train.std) == CIFAR10_CONSTANTS


def test_a_damaged_cifar10_that_was_named_by_path_is_not_downloaded(tmp_path):
    write_cifar_binary(tmp_path)
    file = tmp_path / "cifar-10-batches-bin/data_batch_3.bin"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(DataError, match=r"data_batch_3.bin is not whole .*; copy it again"):
        load(str(tmp_path / "cifar-10-batches-bin"))
    file.unlink()
    with pytest.raises(DataError, match="a file of it is missing"):
        load(str(tmp_path / "cifar-10-batches-bin"))


def test_cifar10_has_the_published_constants(root):
    write_cifar(root, *CIFAR10)
    train = load("cifar10").train
    assert (train.mean, train.std) == CIFAR10_CONSTANTS


def test_svhn_ten_is_zero(root):
    written = write_svhn(root)
    train = load("svhn").train
    assert np.array_equal(train.pixels, written)
    assert train.labels[:10].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]


def test_a_pickle_that_asks_for_code_is_refused(root, tmp_path):
    write_cifar(root, *CIFAR10)
    victim = tmp_path / "executed"

    class Evil:
        def __reduce__(self):
            return Path.touch, (victim,)

    (root / CIFAR10[0] / "data_batch_2").write_bytes(pickle.dumps(Evil(), protocol=2))
    with pytest.raises(DataError, match=r"data_batch_2 is not whole .* nothing in it was run"):
        load("cifar10")
    assert not victim.exists()


def one_line(error):
    text = str(error.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("mnist", "MNIST/raw/train-images-idx3-ubyte.gz"),
        ("fashion-mnist", "FashionMNIST/raw/t10k-labels-idx1-ubyte.gz"),
        ("cifar10", "cifar-10-python.tar.gz"),
        ("cifar100", "cifar-100-python.tar.gz"),
        ("svhn", "train_32x32.mat"),
    ],
)
def test_offline_and_absent(root, name, file):
    with pytest.raises(DataError) as error:
        load(name)
    text = one_line(error)
    for part in (name, str(root), file, "no network", "--data digits"):
        assert part in text
    assert list(root.rglob("*half*")) == []
    assert [p for p in root.rglob("*") if p.is_file()] == []  # nothing of the half download stays


@pytest.mark.parametrize("cut", [3, 10, 500])
def test_half_a_file_is_not_taken_for_a_whole_one(root, cut):
    write_mnist(root)
    path = root / "MNIST/raw/train-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:-cut] if cut > 3 else b"\0\0")
    with pytest.raises(DataError, match="train-images-idx3-ubyte is not whole"):
        load("mnist")


@pytest.mark.parametrize("packed", [False, True])
def test_half_a_cifar(root, packed):
    if packed:
        path = root / "cifar-10-python.tar.gz"
        write_cifar_archive(path, *CIFAR10)
    else:
        write_cifar(root, *CIFAR10)
        path = root / CIFAR10[0] / "test_batch"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DataError, match="is not whole"):
        load("cifar10")


def test_a_broken_set_is_downloaded_again(root, tmp_path, monkeypatch):
    write_mnist(root)
    broken = root / "MNIST/raw/train-images-idx3-ubyte"
    broken.write_bytes(broken.read_bytes()[:100])
    written = write_mnist(tmp_path, suffix=".gz")
    asked = []

    def fetch(url, path, sha256):
        asked.append(url)
        assert len(sha256) == 64
        path.write_bytes((tmp_path / "MNIST/raw" / path.name).read_bytes())

    monkeypatch.setattr(downloads, "fetch", fetch)
    assert np.array_equal(load("mnist").train.pixels[:, 0], written)
    assert len(asked) == 4
    assert all(url.startswith("https://") for url in asked)
    assert np.array_equal(load("mnist").train.pixels[:, 0], written)
    assert len(asked) == 4
    assert list(root.glob(".download-*")) == []


def test_labels_beyond_the_classes_are_refused(root):
    folder, _, batches, key = CIFAR10
    write_cifar(root, folder, 10, batches, key)
    (root / folder / "batches.meta").write_bytes(pickle.dumps({"label_names": ["only", "two"]}, protocol=2))
    with pytest.raises(DataError, match="labels up to 9"):
        load("cifar10")


def test_every_file_that_is_downloaded_has_an_address_and_a_hash():
    for name in ("mnist", "fashion-mnist", "cifar10", "cifar100", "svhn"):
        with pytest.raises(DataError, match="cannot be downloaded"):
            load(name)
    for name, place in downloads.PLACES.items():
        assert place.startswith("https://")
        assert place.endswith("/")
        assert all(len(digest) == 64 for digest in downloads.SHA256[name].values())


def test_another_content_is_not_taken(tmp_path, monkeypatch):
    class Answer(io.BytesIO):
        headers: ClassVar = {"content-length": "3"}

    monkeypatch.setattr(urllib.request.OpenerDirector, "open", lambda *_, **__: Answer(b"abc"))
    right = hashlib.sha256(b"abc").hexdigest()
    FETCH("https://example.org/x", tmp_path / "x", right)
    assert (tmp_path / "x").read_bytes() == b"abc"
    with pytest.raises(URLError, match=f"is not what was published: SHA-256 {right}, not 00"):
        FETCH("https://example.org/x", tmp_path / "y", "0" * 64)
    with pytest.raises(URLError, match="is not https"):
        FETCH("http://example.org/x", tmp_path / "z", right)
    with pytest.raises(URLError, match="which is not https"):
        downloads._HttpsOnly().redirect_request(None, None, 302, "", {}, "http://example.org")
    assert [file.name for file in tmp_path.iterdir()] == ["x"]


def test_other_images_in_the_place_of_published_ones_are_named(root):
    write_mnist(root, suffix=".gz")
    assert load("mnist").notices[0].startswith("note: train-images-idx3-ubyte.gz is not the published file (SHA-256)")


def test_absent_data_without_network_is_refused_before_torch(root):
    """In a process of its own: what is imported there is asked."""
    script = """
import socket, sys
from time import perf_counter

def unreachable(*args):
    raise socket.gaierror(-2, "Name or service not known")

socket.create_connection = unreachable
from replab import preflight
from replab.errors import DataError
for name in ("mnist", "fashion-mnist", "cifar10", "cifar100", "svhn"):
    try:
        preflight.requested("mlp", name)
        raise SystemExit(f"{name} was not refused")
    except DataError as error:
        assert "it cannot be downloaded (no connection to" in str(error), error
        assert "--data digits" in str(error), error
preflight.requested("mlp", "cifar10", reads_images=False)  # a model is shown without the images
assert "torch" not in sys.modules and "torchvision" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_name_server_that_is_silent_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(reach, "PATIENCE", 0.05)
    monkeypatch.setattr(reach.socket, "create_connection", lambda *_: Event().wait(1))
    assert reach.obstacle("https://example.org") == "no answer from example.org in 0.05 s"


def test_a_set_on_disk_needs_no_network(root, monkeypatch):
    monkeypatch.setattr(reach, "obstacle", lambda address: "no network")
    write_mnist(root)
    source.check_reachable("mnist")
    source.check_reachable("digits")
    with pytest.raises(DataError, match="cannot be downloaded"):
        source.check_reachable("svhn")

"""Readers of the files MNIST, CIFAR and SVHN are published in. No code in them is run; incomplete files are refused.

Each gives (pixels NCHW uint8, labels int64); anything wrong with the file is a Broken.
"""

from __future__ import annotations

import gzip
import io
import pickle
import tarfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np


class Broken(Exception):
    """A file that is damaged, or not what its name says."""

    def __init__(self, path: Path, why: object):
        super().__init__(f"{path.name} is not whole ({' '.join(str(why).split())})")


def read_idx(path: Path) -> np.ndarray:
    """An IDX array, plain or .gz. Its header gives its length, so that an incomplete file is noticed."""
    try:
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise Broken(path, error) from None
    if len(data) < 4 or data[:3] != b"\0\0\x08":  # 8: unsigned bytes
        raise Broken(path, "no IDX file of bytes")
    dimensions = data[3]
    start = 4 + 4 * dimensions
    shape = [int(n) for n in np.frombuffer(data[4:start], ">u4")]
    if len(shape) != dimensions or len(data) - start != np.prod(shape, dtype=np.int64):
        raise Broken(path, f"its header says {shape}, but it has {max(0, len(data) - start):,} bytes")
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)


def read_idx_pair(images: Path, labels: Path) -> tuple[np.ndarray, np.ndarray]:
    pixels, targets = read_idx(images), read_idx(labels)
    if pixels.ndim != 3 or targets.ndim != 1 or len(pixels) != len(targets):
        raise Broken(images, f"images of shape {pixels.shape} for labels of shape {targets.shape}")
    return pixels[:, None], targets.astype(np.int64)


def read_cifar(path: Path, data: bytes, label_key: str) -> tuple[np.ndarray, np.ndarray]:
    """A batch of CIFAR's Python version."""
    entry = _unpickled(path, data)
    try:
        pixels, labels = entry["data"], np.asarray(entry[label_key])
        if pixels.dtype != np.uint8 or labels.shape != (len(pixels),) or labels.dtype.kind != "i":
            raise ValueError("no uint8 images with a label each")
        return pixels.reshape(-1, 3, 32, 32), labels.astype(np.int64)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Broken(path, error) from None


def read_cifar_binary(path: Path, data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """A batch of CIFAR-10's binary version."""
    if not data or len(data) % 3073:
        raise Broken(path, f"{len(data):,} bytes are no whole number of images of 3,073")
    records = np.frombuffer(data, np.uint8).reshape(-1, 3073)
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].astype(np.int64)


def read_cifar_names(path: Path, data: bytes, key: str) -> tuple[str, ...]:
    try:
        return tuple(str(name) for name in _unpickled(path, data)[key])
    except (KeyError, TypeError) as error:
        raise Broken(path, error) from None


def read_members(path: Path, names: list[str]) -> dict[str, bytes]:
    """Files of a .tar.gz, in memory; nothing is unpacked to disk."""
    try:
        with tarfile.open(path) as archive:
            found = {}
            for name in names:
                member = archive.extractfile(name)
                found[name] = b"" if member is None else member.read()
            return found
    except (OSError, EOFError, KeyError, tarfile.TarError, zlib.error) as error:
        raise Broken(path, error) from None


def read_svhn(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """A Matlab file: X (32, 32, 3, N), y (N, 1) where 10 stands for the digit 0."""
    from scipy.io import loadmat

    try:
        found = loadmat(path)
        pixels, labels = found["X"].transpose(3, 2, 0, 1), found["y"].astype(np.int64).reshape(-1) % 10
        if pixels.dtype != np.uint8 or len(labels) != len(pixels):
            raise ValueError("no uint8 images with a label each")
    except Exception as error:  # scipy raises whatever the damaged bytes lead to
        raise Broken(path, error) from None
    return pixels, labels


class _ArraysOnly(pickle.Unpickler):
    """CIFAR is published as pickles. This reads lists, dicts, text and arrays and refuses everything else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in (("numpy", "ndarray"), ("numpy", "dtype")):
            return getattr(np, name)
        if name == "_reconstruct" and module in ("numpy.core.multiarray", "numpy._core.multiarray"):
            return _new_array
        if (module, name) == ("_codecs", "encode"):  # how Python 3 writes bytes for Python 2
            return _encode
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")


def _new_array(kind: type, shape: tuple[int, ...], dtype: bytes) -> np.ndarray:
    return np.empty(0, np.uint8)  # the pickle sets shape, type and bytes next


def _encode(text: str, encoding: str) -> bytes:
    return text.encode("latin1")


def _unpickled(path: Path, data: bytes) -> Any:
    try:
        return _ArraysOnly(io.BytesIO(data), encoding="latin1").load()
    except Exception as error:  # damaged pickles raise nearly anything
        raise Broken(path, error or "damaged") from None

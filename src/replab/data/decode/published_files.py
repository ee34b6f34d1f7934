"""Readers of the files MNIST, CIFAR and SVHN are published in. No code in them is run; incomplete files are refused.

Each gives (pixels NCHW uint8, labels int64); anything wrong with the file is a Broken.
"""

from __future__ import annotations

import gzip
import io
import math
import tarfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

MOST_BYTES = 2**32  # of one published array


class Broken(Exception):
    """A file that is damaged, or not what its name says."""

    def __init__(self, path: Path, why: object):
        super().__init__(f"{path.name} is not whole ({' '.join(str(why).split())})")


def read_idx(path: Path) -> np.ndarray:
    """An IDX array, plain or .gz. Its header gives its length, so that neither less nor more is read."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            head = file.read(4)
            if len(head) < 4 or head[:3] != b"\0\0\x08":  # 8: unsigned bytes
                raise Broken(path, "no IDX file of bytes")
            sizes = file.read(4 * head[3])
            if len(sizes) != 4 * head[3]:
                raise Broken(path, "it ends within its header")
            shape = [int(n) for n in np.frombuffer(sizes, ">u4")]
            length = math.prod(shape)  # of Python's integers, which do not overflow
            if length > MOST_BYTES:
                raise Broken(path, f"its header says {shape}, which is more than {MOST_BYTES:,} bytes")
            data = file.read(length + 1)
    except (OSError, EOFError, zlib.error, MemoryError) as error:
        raise Broken(path, error) from None
    if len(data) != length:
        more = "more" if len(data) > length else f"{len(data):,}"
        raise Broken(path, f"its header says {shape}, but it has {more} bytes")
    return np.frombuffer(data, np.uint8).reshape(shape)


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
                entry = archive.getmember(name)
                if entry.size > MOST_BYTES:
                    raise Broken(path, f"{name} in it has {entry.size:,} bytes")
                member = archive.extractfile(entry)
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


def _unpickled(path: Path, data: bytes) -> Any:
    """CIFAR is published as pickles: lists, dicts, text and arrays are read, everything else is refused."""
    from mytorch.pickles import read_arrays

    try:
        return read_arrays(io.BytesIO(data), path.name, encoding="latin1")
    except Exception as error:  # damaged pickles raise nearly anything
        raise Broken(path, error or "damaged") from None

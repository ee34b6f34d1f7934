"""Files of named arrays: NumPy's .npy and .npz, and safetensors. Sizes are checked before anything is allocated."""

from __future__ import annotations

import json
import zipfile
from typing import IO, Any

import numpy as np

from mytorch.pickles import byte_count
from mytorch.tensor import Tensor
from mytorch.torchfile import BFLOAT16, bytes_of, from_bytes


def read_npy(file: IO[bytes], size: int, where: str) -> Tensor:
    """One array in a file of `size` bytes: a header of type and shape, then exactly its bytes."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, kind = read(file)
    if kind.kind not in "fiub":
        raise ValueError(f"{where} must hold numbers, but holds the type {kind}")
    rest = size - file.tell()
    if byte_count(shape, kind) != rest:
        raise ValueError(f"{where} must hold {byte_count(shape, kind)} bytes for the shape {shape}, but holds {rest}")
    array = np.frombuffer(file.read(rest), kind).astype(kind.newbyteorder("="))
    return Tensor(array.reshape(shape[::-1]).T if fortran else array.reshape(shape))


def read_npz(archive: zipfile.ZipFile, where: str) -> dict[str, Tensor]:
    """Name → tensor."""
    tensors = {}
    for entry in archive.infolist():
        name = entry.filename
        if not name.endswith(".npy"):
            raise ValueError(f"{where} must be a file of torch.save or an npz, but holds {name!r}")
        with archive.open(entry) as file:
            tensors[name.removesuffix(".npy")] = read_npy(file, entry.file_size, f"{where}: {name}")
    return tensors


_SAFETENSORS = {
    **{f"F{bits}": f"<f{bits // 8}" for bits in (16, 32, 64)},
    **{f"I{bits}": f"<i{bits // 8}" for bits in (8, 16, 32, 64)},
    "U8": "|u1",
    "BOOL": "|b1",
    "BF16": BFLOAT16,
}


def is_safetensors(data: bytes) -> bool:
    return data[8:9] == b"{" and int.from_bytes(data[:8], "little") <= len(data) - 8


def read_safetensors(data: bytes, where: str) -> dict[str, Tensor]:
    """A length, a JSON header of that length (name → type, shape, place), then the bytes."""
    start = 8 + int.from_bytes(data[:8], "little")
    header: dict[str, Any] = json.loads(data[8:start])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] not in _SAFETENSORS:
            raise ValueError(f"{where}: {name!r} has the type {entry['dtype']}, which mytorch does not have")
        kind, shape, (first, last) = _SAFETENSORS[entry["dtype"]], tuple(entry["shape"]), entry["data_offsets"]
        expected = byte_count(shape, np.dtype(np.uint8)) * bytes_of(kind)
        if not 0 <= first <= last <= len(data) - start or last - first != expected:
            raise ValueError(f"{where}: {name!r} must lie in {expected} bytes of the file, but in {first} to {last}")
        tensors[name] = Tensor(from_bytes(data[start + first : start + last], kind).reshape(shape))
    return tensors

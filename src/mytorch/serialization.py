"""save writes torch's zip format; load reads it, its predecessor, npz, npy, safetensors and plain pickles of arrays.

No file can run code, unless load is told weights_only=False, which trusts the file as it does in torch.
"""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mytorch import arrayfiles, torchfile
from mytorch.numpy_lab import load_numpy_lab
from mytorch.pickles import RefusedPickle, read_arrays
from mytorch.tensor import Tensor
from mytorch.torchwriter import write_zip

from .absent import refuse_names

__all__ = ["load", "load_numpy_lab", "save", "to_torch"]


def save(obj: Any, f: Any, *ignored: Any, **kwargs: Any) -> None:
    """Writes to a file, or to a path: under a temporary name first, so that no incomplete file is left."""
    if not isinstance(f, str | os.PathLike):
        write_zip(obj, f)
        return
    path = Path(f)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            write_zip(obj, file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)  # mkstemp's files are for the owner only
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None, **kwargs: Any
) -> Any:
    """What a file holds. map_location changes nothing: there is one device.

    weights_only=False also loads whole modules and other objects, and so can run code: only for files one trusts.
    """
    if isinstance(f, str | os.PathLike):
        where, data = str(f), Path(f).read_bytes()
    else:
        where, data = str(getattr(f, "name", "the file")), f.read()
    try:
        return _read(data, where, weights_only is None or bool(weights_only))
    except RefusedPickle as refused:
        text = str(refused) if str(refused).startswith(where) else f"{where}: {refused}"
        raise RefusedPickle(f"{text}; of a file you trust, weights_only=False loads whole objects") from None
    except ValueError as error:
        if str(error).startswith(where):
            raise
        raise _damaged(where, error) from None
    except Exception as error:
        # A damaged file can fail in any way: EOFError, KeyError, BadZipFile, struct.error, …
        if weights_only is False and isinstance(error, (ImportError, AttributeError)):
            raise  # a class that cannot be found, in a file that is trusted
        raise _damaged(where, error) from None


def _damaged(where: str, error: Exception) -> ValueError:
    return ValueError(f"{where} must be whole, but is cut off or damaged ({error}): write or fetch it again")


def _read(data: bytes, where: str, weights_only: bool) -> Any:
    """The format is known by the first bytes."""
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            damaged = archive.testzip()
            if damaged is not None:
                raise ValueError(f"{where} must be whole, but {damaged} in it is damaged: write or fetch it again")
            if any(name.endswith("/data.pkl") for name in archive.namelist()):
                return torchfile.read_zip(archive, where, weights_only)
            return arrayfiles.read_npz(archive, where)
    if data.startswith(torchfile.LEGACY_START):
        return torchfile.read_legacy(data, where, weights_only)
    if data[:6] == b"\x93NUMPY":
        return arrayfiles.read_npy(io.BytesIO(data), len(data), where)
    if arrayfiles.is_safetensors(data):
        return arrayfiles.read_safetensors(data, where)
    if data[:1] in b"\x80(}]cd" and data:  # the opcodes a pickle of containers or arrays begins with
        return read_arrays(io.BytesIO(data), where)
    raise ValueError(
        f"{where} must be a file of torch.save, an npz, safetensors or a pickle of arrays, but starts with {data[:4]!r}"
    )


def to_torch(obj: Any) -> Any:
    """The same nesting with mytorch's tensors (and arrays) as torch tensors, for torch's load_state_dict."""
    import torch  # only here: mytorch itself needs no torch

    if isinstance(obj, Tensor | np.ndarray):
        return torch.from_numpy(np.array(obj._array if isinstance(obj, Tensor) else obj))
    if isinstance(obj, Mapping):
        return {key: to_torch(value) for key, value in obj.items()}
    if isinstance(obj, list | tuple):
        return type(obj)(to_torch(value) for value in obj)
    return obj


__getattr__ = refuse_names("torch.serialization")

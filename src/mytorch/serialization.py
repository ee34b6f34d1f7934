"""save and load: tensors, numbers and plain containers in an npz with a JSON skeleton; loading runs no code.

Besides its own files, load reads those of torch.save as long as they hold tensors and plain containers.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from mytorch import dtypes, torchfile
from mytorch.nn.parameter import Parameter
from mytorch.pickles import read_arrays
from mytorch.tensor import Tensor

_SKELETON = "mytorch.json"  # the npz entry that says how the arrays hang together
_FORMAT = 1


def save(obj: Any, f: Any, *ignored: Any, **kwargs: Any) -> None:
    """Writes to a file, or to a path: under a temporary name first, so that no half file is left."""
    arrays: list[np.ndarray] = []
    skeleton = {"format": _FORMAT, "value": _encode(obj, arrays, "the object")}
    text = np.frombuffer(json.dumps(skeleton).encode(), np.uint8)
    named: dict[str, Any] = {_SKELETON: text}
    named |= {f"array{number}": array for number, array in enumerate(arrays)}
    if not isinstance(f, str | os.PathLike):
        np.savez(f, **named)
        return
    path = Path(f)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **named)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)  # mkstemp's files are for the owner only
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def load(f: Any, map_location: Any = None, *ignored: Any, **kwargs: Any) -> Any:
    """What save wrote. map_location and weights_only change nothing: one device, and no code in a file."""
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return _read(file, str(f))
    return _read(f, str(getattr(f, "name", "the file")))


def _read(file: IO[bytes], where: str) -> Any:
    data = file.read()
    if data[:2] != b"PK":
        kind = "a pickle, which could run code" if data[:1] == b"\x80" else f"starts with {data[:4]!r}"
        raise ValueError(f"{where} must be a file of mytorch.save or torch.save (a zip), but is {kind}")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            if any(name.endswith("/data.pkl") for name in names):
                return torchfile.read(archive, where)
            if f"{_SKELETON}.npy" not in names:
                raise ValueError(f"{where} must hold {_SKELETON}, but holds {names[:3]}: it is not of mytorch.save")
            damaged = archive.testzip()
            if damaged is not None:
                raise ValueError(f"{where} must be whole, but {damaged} in it is damaged: write or fetch it again")
    except (zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{where} must be whole, but is cut off or damaged ({error}): fetch it again") from None
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        skeleton = json.loads(arrays[_SKELETON].tobytes())
        if skeleton["format"] != _FORMAT:
            raise ValueError(f"{where} must have format {_FORMAT}, but has {skeleton['format']}: update mytorch")
        return _decode(skeleton["value"], {name: arrays[name] for name in arrays.files if name != _SKELETON})


def _encode(value: Any, arrays: list[np.ndarray], where: str) -> Any:
    """Numbers, strings, None as JSON has them; everything else as a one-entry object {kind: content}."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Tensor):
        kind = "parameter" if isinstance(value, Parameter) else "tensor"
        return {kind: [_number(value._array, arrays), value.requires_grad]}
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return {"array": _number(value, arrays)}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        pairs = [
            [_encode(key, arrays, f"a key of {where}"), _encode(item, arrays, f"{where}[{key!r}]")]
            for key, item in value.items()
        ]
        return {"dict": pairs}
    if isinstance(value, list | tuple):
        items = [_encode(item, arrays, f"{where}[{place}]") for place, item in enumerate(value)]
        return {"list" if isinstance(value, list) else "tuple": items}
    if isinstance(value, dtypes.dtype):
        return {"dtype": value.name}
    raise TypeError(
        "mytorch.save takes tensors, arrays, numbers, strings and dicts, lists, tuples of them, "
        f"but {where} is {type(value).__name__}: save its state_dict()"
    )


def _number(array: np.ndarray, arrays: list[np.ndarray]) -> int:
    """The array's place in the file; one that is there already (a shared weight) is written once."""
    for number, known in enumerate(arrays):
        if known is array:
            return number
    arrays.append(array)
    return len(arrays) - 1


def _decode(node: Any, arrays: dict[str, np.ndarray]) -> Any:
    if not isinstance(node, dict):
        return node
    ((kind, content),) = node.items()
    if kind in ("tensor", "parameter"):
        number, requires_grad = content
        tensor = Tensor(arrays[f"array{number}"], requires_grad=requires_grad)
        return Parameter(tensor, requires_grad) if kind == "parameter" else tensor
    if kind == "array":
        return arrays[f"array{content}"]
    if kind == "dict":
        return {_decode(key, arrays): _decode(item, arrays) for key, item in content}
    if kind == "dtype":
        return dtypes.dtype_named(content)
    items = [_decode(item, arrays) for item in content]
    return items if kind == "list" else tuple(items)


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


# numpy-lab's names and torch's. Its running statistics were parameters beside gamma and beta.
_RENAMED = {"gamma": "weight", "beta": "bias", "moving_mean": "running_mean", "moving_var": "running_var"}


def load_numpy_lab(path: str | os.PathLike) -> dict[str, Tensor]:
    """A numpy-lab pickle (layer → parameter → array) as a flat state dict; one that names code is refused.

    Linear weights, stored (in, out), are transposed; rows and columns that stand for vectors are flattened.
    """
    with open(path, "rb") as file:
        nested = read_arrays(file, str(path))
    state: dict[str, Tensor] = {}
    _flatten(nested, "", state, str(path))
    return state


def _flatten(node: Any, prefix: str, state: dict[str, Tensor], where: str) -> None:
    if isinstance(node, Mapping):
        for name, value in node.items():
            _flatten(value, f"{prefix}.{name}" if prefix else str(name), state, where)
        return
    if not prefix or not isinstance(node, np.ndarray | np.generic) or node.dtype.kind not in "fiub":
        place = prefix or "the top level"
        raise ValueError(f"{where} must hold layer → parameter → array, but {place} is {type(node).__name__}")
    layer, _, stored = prefix.rpartition(".")
    array, name = np.asarray(node), _RENAMED.get(stored, stored)
    if stored != "weight" and max(array.shape, default=1) == array.size:
        array = array.reshape(-1)  # (1, n) and (1, n, 1, 1) are vectors
    elif stored == "weight" and array.ndim == 2:
        array = array.T
    state[f"{layer}.{name}" if layer else name] = Tensor(np.ascontiguousarray(array))

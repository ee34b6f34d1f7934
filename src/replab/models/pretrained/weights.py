"""Weights made elsewhere: read without running code, and put into a model only if everything but the head fits.

Rule: what may differ between a file and a model is the head, and what a backbone names (resnet18's 3x3 stem).
Anything else that is missing, left over or of another shape is an error: no silent partial load.

Where they come from is an entry under `@weights`, in this file or a new one beside it: `--weights NAME:REST` calls the
entry NAME with the text REST, and it returns Weights. A path alone means `file:PATH`, or `run:PATH` for a folder.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from replab.backends import torch_file
from replab.data.normalise import spell
from replab.errors import ModelError
from replab.registry import Kind

weights = Kind("weight source", "replab.models.pretrained", "weights", "--weights takes a path, or NAME:… of: {names}")

PREFIXES = ("module.", "net.")  # DataParallel's, and that of a network behind its input layer


@dataclass(frozen=True, eq=False)
class Weights:
    origin: str  # a file or folder, for messages
    state: Mapping[str, torch.Tensor]
    sha256: str  # of the file
    normalise: str = ""  # how the images of the run that made them were, as a recipe says it; of files not known
    classes: tuple[str, ...] = ()  # what the run told apart, likewise


@dataclass(frozen=True)
class Summary:
    """Names of tensors: put in, left as drawn by the seed, and those of the file that found no place."""

    loaded: tuple[str, ...]
    new: tuple[str, ...]
    unused: tuple[str, ...]
    origin: str

    def sentence(self) -> str:
        parts = [f"{len(self.loaded)} tensors loaded"]
        parts.append(f"{len(self.new)} new ({_few(self.new)})" if self.new else "none new")
        if self.unused:
            parts.append(f"{len(self.unused)} of the file not used ({_few(self.unused)})")
        return f"weights: {', '.join(parts)}, from {self.origin}"


def read(where: str | Path) -> Weights:
    """The weights that `where` means: a path, or what one of the sources knows."""
    path, (name, sign, rest) = Path(where).expanduser(), str(where).partition(":")
    if path.exists() or not sign or len(name) < 2:  # C:… is a path too
        return weights.get("run" if path.is_dir() else "file")(str(where))
    return weights.get(name)(rest)


@weights
def file(where: str) -> Weights:
    """A .safetensors file, or a .pth that torch loads with weights_only"""
    return from_file(Path(where).expanduser(), where)


@weights
def run(where: str) -> Weights:
    """The folder of a replab run"""
    from replab.records.record import Record

    path = Path(where).expanduser()
    record = Record.open(path, path.parent)
    classes = tuple(record.read_json("input.json", {}).get("classes", ()))
    if not record.has("model.safetensors"):
        raise ModelError(f"run {record.id} has no trained model yet; replab resume {record.id} finishes it")
    return from_file(record.checked("model.safetensors"), where, _normalisation(record), classes)


def from_file(path: Path, origin: str, normalise: str = "", classes: tuple[str, ...] = ()) -> Weights:
    """A file's weights. `origin` is what the user wrote, for messages."""
    if not _is_file(path):
        raise ModelError(
            f"no weights at {origin}: --weights takes a .safetensors or .pth file, or the id or folder of a finished"
            " run"
        )
    state = _safetensors(path) if path.suffix == ".safetensors" else _pickled(path)
    prefix = _wrapping(state)
    named = {name.removeprefix(prefix): value for name, value in state.items()}
    return Weights(origin, named, digest(path), normalise, classes)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _normalisation(record: Any) -> str:
    """A run's normalisation in numbers; nothing where it is a layer of the model."""
    seen = record.read_json("input.json", {})
    if not record.has("recipe.toml") or record.recipe().normalise == "backbone" or "mean" not in seen:
        return ""
    return spell(seen["mean"], seen["std"])


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _safetensors(path: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except Exception as error:  # it has its own, and torch's of types it does not know
        raise ModelError(f"{path} is not a whole safetensors file ({_line(error)}); get it again") from None


def _pickled(path: Path) -> dict[str, torch.Tensor]:
    try:
        torch_file.check(path)
        with warnings.catch_warnings(action="ignore"):  # of protocols it does not know, before it refuses them
            found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # weights_only names the global it will not call; damaged files raise nearly anything
        text = _line(error)
        at = text.find("Unsupported global")
        why = text[at : at + 120] if at >= 0 else text[:120]
        raise ModelError(
            f"{path} is refused: it is not a plain state dict, and nothing in a file is executed ({why});"
            " save the state dict alone, best as .safetensors"
        ) from None
    for key in ("state_dict", "model"):  # how training scripts wrap it
        if isinstance(found, dict) and isinstance(found.get(key), dict):
            found = found[key]
    if not isinstance(found, dict) or not found or not all(isinstance(v, torch.Tensor) for v in found.values()):
        raise ModelError(f"{path} must hold a state dict, names with a tensor each, got {type(found).__name__}")
    return found


def put_into(model: Any, given: Weights, may_differ: Sequence[str], name: str, anew: Sequence[str] = ()) -> Summary:
    """Load what fits; raise unless all that does not is below a name in `may_differ`. `anew` is left as drawn."""
    own = model.state_dict()
    prefix = _wrapping(own)
    places = {key.removeprefix(prefix): key for key in own}
    may_differ, anew = ([part.removeprefix(prefix) for part in parts] for parts in (may_differ, anew))
    fitting = {
        k: v for k, v in given.state.items() if k in places and own[places[k]].shape == v.shape and not _below(k, anew)
    }
    new = tuple(k for k in places if k not in fitting)
    unused = tuple(k for k in given.state if k not in fitting)
    unfit = [k for k in (*new, *unused) if not _allowed(k, may_differ)]
    if unfit or not fitting:
        shown = [_difference(k, own, places, given.state) for k in dict.fromkeys(unfit)]
        raise ModelError(
            f"the weights of {given.origin} are not those of {name}: {len(fitting)} of {len(places)} tensors fit;"
            f" {'; '.join(shown[:2])}{f' and {len(shown) - 2} more' if len(shown) > 2 else ''};"
            f" only {', '.join(may_differ)} may differ"
        )
    model.load_state_dict({**own, **{places[k]: v for k, v in fitting.items()}})
    return Summary(tuple(fitting), new, unused, given.origin)


def _allowed(name: str, may_differ: Sequence[str]) -> bool:
    if name.endswith("num_batches_tracked"):  # a counter that older files lack and nothing here reads
        return True
    return _below(name, may_differ)


def _below(name: str, modules: Sequence[str]) -> bool:
    return any(name == module or name.startswith(module + ".") for module in modules)


def _difference(key: str, own: Mapping[str, Any], places: Mapping[str, str], given: Mapping[str, Any]) -> str:
    if key not in given:
        return f"{key} is not in the file"
    if key not in places:
        return f"{key} is not in the model"
    return f"{key} is {tuple(given[key].shape)} in the file and {tuple(own[places[key]].shape)} in the model"


def _wrapping(names: Iterable[str]) -> str:
    """The prefix that all names have: one that only some have tells them from others."""
    found, names = "", list(names)
    for prefix in PREFIXES:
        if all(name.startswith(found + prefix) for name in names):
            found += prefix
    return found


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (", …" if len(names) > 4 else "")


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())

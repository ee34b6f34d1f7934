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

# DataParallel's, torch.compile's, that of a network behind its input layer, and those that training scripts add
PREFIXES = ("module.", "_orig_mod.", "net.", "model.", "backbone.", "encoder.")
WRAPPERS = ("state_dict", "model_state_dict", "model", "net", "weights")  # keys under which scripts put a state dict


@dataclass(frozen=True, eq=False)
class Weights:
    origin: str  # a file or folder, for messages
    state: Mapping[str, torch.Tensor]
    sha256: str  # of the file
    normalise: str = ""  # how the images of the run that made them were, as a recipe says it; of files not known
    classes: tuple[str, ...] = ()  # what the run told apart, likewise
    done: tuple[str, ...] = ()  # to the names, so that they are those of the model


@dataclass(frozen=True)
class Summary:
    """Names of tensors: put in, left as drawn by the seed, and those of the file that found no place."""

    loaded: tuple[str, ...]
    new: tuple[str, ...]
    unused: tuple[str, ...]
    origin: str
    done: tuple[str, ...] = ()

    def sentence(self) -> str:
        parts = [f"{len(self.loaded)} tensors loaded"]
        parts.append(f"{len(self.new)} new ({_few(self.new)})" if self.new else "none new")
        if self.unused:
            parts.append(f"{len(self.unused)} of the file not used ({_few(self.unused)})")
        done = f" ({'; '.join(self.done)})" if self.done else ""
        return f"weights: {', '.join(parts)}, from {self.origin}{done}"


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
    state, done = (_safetensors(path), []) if path.suffix == ".safetensors" else _pickled(path)
    return Weights(origin, state, digest(path), normalise, classes, tuple(done))


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


def _pickled(path: Path) -> tuple[dict[str, torch.Tensor], list[str]]:
    """The state dict of a file, and what was done to find it."""
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
    done: list[str] = []
    while (
        key := next((k for k in WRAPPERS if isinstance(found, dict) and isinstance(found.get(k), dict)), None)
    ) is not None:
        found = found[key]
        done.append(f"taken from {key!r} of the file")
    if not isinstance(found, dict) or not found or not all(isinstance(v, torch.Tensor) for v in found.values()):
        raise ModelError(f"{path} must hold a state dict, names with a tensor each, got {type(found).__name__}")
    return found, done


def put_into(model: Any, given: Weights, may_differ: Sequence[str], name: str, anew: Sequence[str] = ()) -> Summary:
    """Load what fits; raise unless all that does not is below a name in `may_differ`. `anew` is left as drawn."""
    own = model.state_dict()
    prefix = _wrapping(own)
    places = {key.removeprefix(prefix): key for key in own}
    may_differ, anew = ([part.removeprefix(prefix) for part in parts] for parts in (may_differ, anew))
    found, stripped = _stripped(given.state, places)
    fitting = {
        k: v for k, v in found.items() if k in places and own[places[k]].shape == v.shape and not _below(k, anew)
    }
    new = tuple(k for k in places if k not in fitting)
    unused = tuple(k for k in found if k not in fitting)
    unfit = [k for k in (*new, *unused) if not _allowed(k, may_differ)]
    if unfit or not fitting:
        shown = [_difference(k, own, places, found) for k in dict.fromkeys(unfit)]
        raise ModelError(
            f"the weights of {given.origin} are not those of {name}: {len(fitting)} of {len(places)} tensors fit;"
            f" {'; '.join(shown[:2])}{f' and {len(shown) - 2} more' if len(shown) > 2 else ''};"
            f" only {', '.join(may_differ)} may differ"
        )
    model.load_state_dict({**own, **{places[k]: v for k, v in fitting.items()}})
    done = (*given.done, *([f"prefix {stripped!r} of its names stripped"] if stripped not in ("", "net.") else []))
    return Summary(tuple(fitting), new, unused, given.origin, done)


def _stripped(state: Mapping[str, Any], places: Mapping[str, str]) -> tuple[Mapping[str, Any], str]:
    """The file's tensors by the model's names, and the prefix that was stripped: one that all have, or a known one.

    A wrapper that also held other things (a loss, an old head) leaves these with their names, to be told as unused.
    """

    def without(prefix: str) -> dict[str, Any]:
        return {k.removeprefix(prefix): v for k, v in state.items()}

    shared, prefixes = _wrapping(state), [""]
    for known in PREFIXES:
        prefixes += [before + known for before in prefixes]
    names = dict.fromkeys([shared, *(p for p in prefixes if any(k.startswith(p) for k in state))])
    if (first := _first_word(state)) and first not in names:
        names[first] = None
    best = max(names, key=lambda prefix: sum(k in places for k in without(prefix)))
    return without(best), best


def _first_word(names: Iterable[str]) -> str:
    """`word.` if all names begin with the same one."""
    words = {name.partition(".")[0] for name in names if "." in name}
    return f"{words.pop()}." if len(words) == 1 and all("." in name for name in names) else ""


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

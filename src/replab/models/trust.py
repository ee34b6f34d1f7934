"""Whether a run may bring code: a file of the user's is imported only where this user named it, or trusted its text.

One rule for models, losses, optimizers, schedules, augmentations and metrics. Published weights whose hash is not
known are remembered here too: models.pretrained.hashes.

What a run folder says about itself proves nothing: its recipe, its hashes and its files come from whoever made it. So
what was trusted is remembered in the user's own configuration, by the text's SHA-256: the functions that were named in
it, and the places it was run from. A text that was trusted is run from there, with its neighbours; from anywhere else
it is run as a copy that stands alone, because a stranger may have put other neighbours beside it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from replab import files
from replab.errors import FileError, ModelError
from replab.records.record import Record
from replab.settings.own_parts import is_file, kept_as, own_parts

Trust = bool | Callable[[str], bool]  # whether to go on with such a thing, or a function that shows it and asks
Notice = Callable[[str], None]
KEPT = "model_file.txt"  # a run's own copy of its model's text; settings.own_parts names those of other parts


def allowed(model: str, record: Record, trust: Trust = False, notice: Notice = lambda text: None) -> str:
    """What to import for a run whose recipe names `model`: a registered name as it is, or FILE.py:FUNCTION if trusted.

    Call it wherever a model comes from a run folder and not from the caller. `notice` is told if a file has changed
    and the run's own copy is used.
    """
    recorded = record.read_json("input.json", {}).get("model_sha256")
    return _allowed(model, KEPT, recorded, "--model FILE.py:FUNCTION", record, trust, notice)


def allowed_parts(
    recipe: Any, record: Record, trust: Trust = False, notice: Notice = lambda text: None, given: Collection[str] = ()
) -> dict[str, str]:
    """The same for the recipe's own loss, optimizer, schedule, augmentations and metrics: what to import, by name.

    `given` are the names that come from the caller.
    """
    recorded = record.read_json("input.json", {}).get("parts", {})
    return {
        name: _allowed(
            name,
            kept_as(name),
            recorded.get(name),
            f"replab.resume or load_run(run, {setting}=...)",
            record,
            trust,
            notice,
        )
        for name, setting in own_parts(recipe).items()
        if name not in given
    }


def _allowed(
    name: str, copy: str, recorded: str | None, instead: str, record: Record, trust: Trust, notice: Notice
) -> str:
    """`copy`: the file of the folder that has its text. `instead`: how the caller names a file of their own."""
    if not is_file(name):
        return name
    file, _, function = name.rpartition(":")
    kept = record.read_text(copy) if record.has(copy) else None
    recorded = recorded or (kept and digest(kept))
    path = Path(file).resolve()
    there = _text(path)
    if there is not None and digest(there) == recorded and _known(recorded, function, path):
        return f"{path}:{function}"
    if kept is None or digest(kept) != recorded:
        what = "has no" if kept is None else "has another text in"
        raise ModelError(
            f"run {record.id} was made with {name}, and its folder {what} {copy}; {instead} names the file to use"
        )
    mark = digest(kept)
    if not _known(mark, function):
        where = f"{record.path(copy)} (SHA-256 {mark})"
        if not (trust(f"run {record.id} brings code: {function} in {where}") if callable(trust) else trust):
            raise ModelError(
                f"run {record.id} brings code, which is not run unasked: {function} in {where}; read it, then --trust"
                f" runs it, or {instead} names a file of yours"
            )
        remember(mark, function)
    elif there is not None and digest(there) != mark:
        notice(f"{file} has changed since: the text kept in run {record.id} is used")
    return f"{_alone(kept, mark)}:{function}"


def remember(mark: str, function: str, path: Path | None = None) -> None:
    """This user named this function of this text, at this place."""
    if _known(mark, function, path):
        return
    store = files.config_root() / "trusted.json"
    with contextlib.suppress(OSError, FileError):  # where nothing can be written, one is asked again
        store.parent.mkdir(parents=True, exist_ok=True)
        with files.lock(store.with_name(".lock"), wait=True):
            texts = _read()
            entry = texts.setdefault(mark, {"functions": [], "paths": []})
            entry["functions"] = sorted({*entry["functions"], function})
            entry["paths"] = sorted({*entry["paths"], *([str(path)] if path else [])})
            files.write_atomic(store, (json.dumps(texts, indent=1) + "\n").encode())


def remembered(function: str) -> str:
    """The SHA-256 under which this user trusted what has this name; empty where it is not known."""
    return next((mark for mark, entry in _read().items() if function in entry["functions"]), "")


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _known(mark: Any, function: str, path: Path | None = None) -> bool:
    entry = _read().get(mark, {}) if isinstance(mark, str) else {}
    return function in entry.get("functions", ()) and (path is None or str(path) in entry.get("paths", ()))


def _read() -> dict[str, dict[str, list[str]]]:
    """What was trusted; a file that cannot be read trusts nothing."""
    try:
        texts = json.loads((files.config_root() / "trusted.json").read_text(encoding="utf-8"))
        return {
            mark: {key: [str(word) for word in entry[key]] for key in ("functions", "paths")}
            for mark, entry in texts.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8") if path.is_file() else None
    except (OSError, UnicodeDecodeError):
        return None


def _alone(text: str, mark: str) -> Path:
    """A copy in the user's own cache, with nothing beside it."""
    path = files.cache_root() / "trusted" / mark / "model_file.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_atomic(path, text.encode())
    return path

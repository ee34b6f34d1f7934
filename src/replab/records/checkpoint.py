"""Checkpoints: the newest and its predecessor, so that there is a whole one at every moment.

A checkpoint holds the rows of its epochs: rows and weights cannot disagree, and a damaged epochs.jsonl is written
again from it. One within an epoch, `within`, has the rows of the epochs before.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from replab import files
from replab.errors import FileError, ReplabError, RunError
from replab.records.folder import RunFolder

NEWEST, PREVIOUS = "checkpoint.pt", "checkpoint.previous.pt"
ROWS = "epochs.jsonl"


def write(
    record: RunFolder,
    state: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    save: Callable[[Any, IO[bytes]], None],
) -> None:
    """`save` is the backend's. The state after the last of these rows."""
    path, manifest = record.path(NEWEST), record.manifest

    def make_room(digest: str) -> None:
        present = manifest.in_place(NEWEST)
        hashes = {NEWEST: digest}
        if present is not None:  # a damaged one does not take the place of its predecessor
            hashes[PREVIOUS] = present
        manifest.announce(hashes)
        if present is not None:
            os.replace(path, record.path(PREVIOUS))
        announced.update(hashes)

    announced: dict[str, str | None] = {}
    text = record.lines[ROWS].follow(rows).text()
    try:
        with record.writing(), files.replacing(path, make_room) as file:
            save({"epoch": len(rows), "rows": text, **state}, file)
    except FileError as error:
        raise FileError(f"{error}; then replab resume {record.id} continues") from None
    manifest.done(announced)


def read(
    record: RunFolder, load: Callable[[Path], Any], notice: Callable[[str], None]
) -> tuple[Mapping[str, Any], list[dict[str, Any]]] | None:
    """(state, rows up to it) of the newest checkpoint that is whole; `load` must refuse code (weights_only).

    `notice` is told what was damaged, and what is done about it.
    """
    problems = []
    for name in (NEWEST, PREVIOUS):
        if not record.has(name):
            continue
        try:
            state = load(record.checked(name))
            rows = _rows_of(record, state)
        except ReplabError as error:
            problems.append(str(error).removeprefix(f"run {record.id}: "))
        except Exception as error:  # damaged archives and pickles raise nearly anything
            problems.append(f"{name} cannot be read ({' '.join(str(error).split())[:100]})")
        else:
            if problems:
                notice(f"run {record.id}: {problems[0]}; the training continues from {name}, after epoch {len(rows)}")
            _agree(record, rows, notice)
            return state, rows
    if problems:
        notice(f"run {record.id}: {'; '.join(problems)}; the training starts again from epoch 1, to the same end")
    elif len(_written(record) or ()) > 1:
        notice(f"run {record.id}: it has rows but no checkpoint; the training starts again from epoch 1")
    return None


def drop(record: RunFolder) -> None:
    """Remove them: the trained model is there."""
    present = [name for name in (NEWEST, PREVIOUS) if record.has(name)]
    if not present:
        return
    with record.writing():
        record.manifest.announce(dict.fromkeys(present))
        try:
            for name in present:
                record.path(name).unlink(missing_ok=True)
            files.sync_folder(record.folder)
        except OSError as error:
            raise FileError(f"cannot write {record.folder}: {files.reason(error, record.folder)}") from None
        record.manifest.done(dict.fromkeys(present))


def _rows_of(record: RunFolder, state: Any) -> list[dict[str, Any]]:
    """The rows of a checkpoint's epochs, from itself; one of replab 0.1 has them in epochs.jsonl alone."""
    epoch = state.get("epoch") if isinstance(state, Mapping) else None
    least = 0 if "within" in state else 1
    if not isinstance(epoch, int) or isinstance(epoch, bool) or epoch < least or "model" not in state:
        raise RunError(f"the checkpoint is not replab's: its epoch is {epoch!r}")
    rows = [json.loads(line) for line in state["rows"].splitlines()] if "rows" in state else None
    if rows is None:
        rows = record.read_lines(ROWS)[:epoch]
    numbers = [row.get("epoch") for row in rows]
    if numbers != list(range(1, epoch + 1)):
        raise RunError(f"the checkpoint is of epoch {epoch}, and the rows are of epochs {numbers}")
    return rows


def _written(record: RunFolder) -> list[dict[str, Any]] | None:
    """epochs.jsonl, or None if it is damaged."""
    with contextlib.suppress(ReplabError):
        return record.read_lines(ROWS)
    return None


def _agree(record: RunFolder, rows: list[dict[str, Any]], notice: Callable[[str], None]) -> None:
    """Write epochs.jsonl again where it is not what the checkpoint holds; a row more is of an epoch to be repeated."""
    written = _written(record)
    if written is None or json.dumps(written[: len(rows)]) != json.dumps(rows):
        notice(f"run {record.id}: {ROWS} is damaged; it is written again from the checkpoint of epoch {len(rows)}")
        record.write_lines(ROWS, rows)

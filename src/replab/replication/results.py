"""The results folder: rows.jsonl is what was measured; ledger.csv, LEDGER.md and the README's table are generated."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

from replab import files
from replab.errors import RunError
from replab.replication import ledger_text
from replab.replication.entry import Entry
from replab.replication.packs import Published

RAW = "rows.jsonl"
LARGEST = 2**28  # bytes


def read(results: Path, notice: Callable[[str], None] = lambda text: None) -> list[Entry]:
    """What was measured; an empty list where nothing was. `notice` is told of a last line that was cut short."""
    path = results / RAW
    try:
        return [_entry(line) for line in _whole(path, notice).decode().split("\n") if line]
    except (OSError, TypeError, ValueError, RecursionError) as error:
        raise RunError(f"{path} is not what replab replicate wrote: {error}; restore it from version control") from None


def _whole(path: Path, notice: Callable[[str], None]) -> bytes:
    """The file's whole lines. A full disk, or a copy that was interrupted, may have cut the last one short."""
    data = files.read(path, LARGEST) if path.is_file() else b""
    end = data.rfind(b"\n") + 1
    if end == len(data):
        return data
    try:
        _entry(data[end:].decode())
    except (TypeError, ValueError, RecursionError):
        notice(f"{path}: its last line was cut short, {len(data) - end:,} bytes; it is dropped")
        return data[:end]
    return data + b"\n"  # it lacks its end alone


def _entry(line: str) -> Entry:
    values = json.loads(line)
    if not isinstance(values, dict):
        raise ValueError(f"a line is no table but {line[:40]!r}")
    return Entry(**values)


def to_show(results: Path) -> Path:
    """The folder whose rows are listed: `results`, or, where it has none, that of the rows that come with replab.

    A wheel has them beside this file (setup.py puts them there); a checkout has them in its own results folder.
    """
    here = Path(__file__).resolve()
    ours = here.parent if here.with_name(RAW).is_file() else here.parents[3] / "results"
    return results if (results / RAW).is_file() else ours


def append(results: Path, entry: Entry, known: Published, notice: Callable[[str], None] = lambda text: None) -> None:
    """Add a finished seed and generate the ledger again; several processes may do so at once."""
    results.mkdir(parents=True, exist_ok=True)
    path, line = results / RAW, json.dumps(dataclasses.asdict(entry), ensure_ascii=False) + "\n"
    with files.lock(results / ".lock", wait=True):
        files.write_atomic(path, _whole(path, notice) + line.encode())
        write(results, known)


def write(results: Path, known: Published) -> None:
    """ledger.csv, LEDGER.md, and the table in each README beside the folder that has the marks for one."""
    for name, text in ledger_text.files(known, read(results)).items():
        files.write_atomic(results / name, text.encode())
    for readme in sorted(results.resolve().parent.glob("README*.md")):
        old = readme.read_text(encoding="utf-8")
        new = ledger_text.with_table(old, ledger_text.readme_table(known, read(results)))
        if new != old:
            files.write_atomic(readme, new.encode())

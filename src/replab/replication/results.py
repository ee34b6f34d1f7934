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


def read(results: Path) -> list[Entry]:
    """What was measured; an empty list where nothing was."""
    path = results / RAW
    if not path.is_file():
        return []
    try:
        return [_entry(line) for line in files.read(path, LARGEST).decode().split("\n") if line]
    except (OSError, TypeError, ValueError, RecursionError) as error:
        raise RunError(f"{path} is not what replab replicate wrote: {error}; restore it from version control") from None


def _entry(line: str) -> Entry:
    values = json.loads(line)
    if not isinstance(values, dict):
        raise ValueError(f"a line is no table but {line[:40]!r}")
    return Entry(**values)


def repair(results: Path, notice: Callable[[str], None] = lambda text: None) -> None:
    """Drop a last line that was cut short: a disk that was full, or a copy that was interrupted."""
    path = results / RAW
    data = files.read(path, LARGEST) if path.is_file() else b""
    whole, cut = data[: data.rfind(b"\n") + 1], data[data.rfind(b"\n") + 1 :]
    if not cut:
        return
    try:
        _entry(cut.decode())
        files.write_atomic(path, data + b"\n")  # it lacks its end alone
    except (TypeError, ValueError, RecursionError):
        files.write_atomic(path, whole)
        notice(f"{path}: its last line was cut short, {len(cut):,} bytes; it is dropped")


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
        repair(results, notice)
        before = path.read_bytes() if path.is_file() else b""
        files.write_atomic(path, before + line.encode())
        write(results, known)


def write(results: Path, known: Published) -> None:
    """ledger.csv, LEDGER.md, and the table in the README beside the folder, where it has the marks for one."""
    for name, text in ledger_text.files(known, read(results)).items():
        files.write_atomic(results / name, text.encode())
    readme = results.resolve().parent / "README.md"
    if readme.is_file():
        old = readme.read_text(encoding="utf-8")
        new = ledger_text.with_table(old, ledger_text.readme_table(known, read(results)))
        if new != old:
            files.write_atomic(readme, new.encode())

"""Rows of a file that grows, as study.jsonl and epochs.jsonl: each is encoded, written and hashed once.

A process writes the whole file first, and from then on appends. So nothing is appended to what a kill cut short, and a
file that was changed or removed meanwhile is written again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from replab import files


def as_it_is(row: Any) -> Any:
    return row


class Lines:
    def __init__(self) -> None:
        self.texts: list[str] = []
        self.last: Any = None  # the row of the last text
        self.count = 0  # texts that are in the file
        self.hash = hashlib.sha256()  # of those
        self.version: tuple[int, int, int] | None = None  # of the file, as this process left it

    def follow(self, rows: Sequence[Any], plain: Callable[[Any], Any] = as_it_is) -> Lines:
        """These rows: what is known, with the new ones added, or all anew where they are not a continuation of it."""
        known = len(self.texts)
        if known > len(rows) or (known and rows[known - 1] is not self.last):
            return Lines().follow(rows, plain)
        self.texts += (json.dumps(plain(row)) + "\n" for row in rows[known:])
        self.last = rows[-1] if rows else None
        return self

    def text(self) -> str:
        return "".join(self.texts)

    def to_append(self, path: Path) -> bytes | None:
        """What the file lacks; None where it has to be written anew."""
        try:
            present = files.version(path.lstat())
        except OSError:
            return None
        return "".join(self.texts[self.count :]).encode() if self.version == present else None

    def after(self, new: bytes) -> tuple[str, tuple[int, int]]:
        """The file's hash with this at its end, and its sizes before and after."""
        assert self.version is not None
        whole, size = self.hash.copy(), self.version[1]
        whole.update(new)
        return whole.hexdigest(), (size, size + len(new))

    def written(self, path: Path) -> None:
        """All of it is there."""
        self.hash.update("".join(self.texts[self.count :]).encode())
        self.count, self.version = len(self.texts), files.version(path.lstat())

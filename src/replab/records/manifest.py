"""manifest.jsonl: the SHA-256 of every file of a run, so that damage is noticed.

One line per write, appended and flushed *before* the file takes its place, with the hash of what it replaces: wherever
a kill or a power cut falls, a whole file has one of its last line's two hashes, and a damaged one has neither. A file
that grows has both with their sizes: what follows the bytes that are whole is the beginning of an append.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from replab import files
from replab.errors import FileError, RunError

NAME = "manifest.jsonl"
LARGEST = 2**26  # bytes: a longer manifest is none of ours
LARGEST_TEXT = 2**28  # bytes of another file of text or JSON
LARGEST_FILE = 2**36


class Entry(NamedTuple):
    """A file's hash, and that of the content it replaces or replaced; None where there is no file."""

    sha256: str | None
    was: str | None
    size: int | None = None  # of a file that is appended to: the hash is that of so many bytes
    was_size: int | None = None  # likewise of the content before; None of the journal, whose end nothing is said of

    def line(self, name: str) -> dict[str, Any]:
        sizes = {"size": self.size, "was_size": self.was_size}
        return {
            "file": name,
            "sha256": self.sha256,
            "was": self.was,
            **{key: size for key, size in sizes.items() if size is not None},
        }


class Manifest:
    def __init__(self, folder: Path):
        self.folder, self.path = folder, folder / NAME
        self.damaged_lines: list[int] = []
        self._entries: dict[str, Entry] = {}
        self._torn = False  # a last line that a kill cut short: its file was not yet replaced
        self._version: Any = None  # of the file that was read
        self._in_place: dict[str, str | None] = {}  # put there by this process
        self.written = False  # since it was last settled

    def entries(self) -> dict[str, Entry]:
        """The last line of each file. Empty for runs of replab 0.1, which have no manifest."""
        try:
            stat = self.path.stat()
        except OSError:  # it is not there, or a link to itself
            self._entries, self._torn, self.damaged_lines = {}, False, []
            return self._entries
        if (version := files.version(stat)) != self._version:
            try:
                self._parse(files.read(self.path, LARGEST))
            except OSError as error:
                raise RunError(f"run {self.folder.name}: {NAME} is not replab's: {error.strerror}") from None
            self._version = version
        return self._entries

    def _parse(self, data: bytes) -> None:
        self._entries, self.damaged_lines = {}, []
        lines = data.split(b"\n")
        self._torn = bool(lines.pop())
        rows: list[Any] = lines
        with contextlib.suppress(ValueError, RecursionError):
            together = json.loads(b"[%s]" % b",".join(lines))  # faster than one by one, where all are whole
            rows = together if len(together) == len(lines) else lines
        for number, line in enumerate(rows, 1):
            try:
                row = json.loads(line) if isinstance(line, bytes) else line
                name, entry = row["file"], Entry(row["sha256"], row["was"], row.get("size"), row.get("was_size"))
                if not _inside(name) or not all(isinstance(value, str | None) for value in entry[:2]):
                    raise ValueError
                if not all(isinstance(value, int | None) for value in entry[2:]):
                    raise ValueError
                self._entries[name] = entry
            except (ValueError, TypeError, KeyError, RecursionError):
                self.damaged_lines.append(number)

    def whole(self, name: str, digest: str | None) -> bool:
        """Whether a file with this hash (None: no file) is what was written; true of files that nothing is known of."""
        entry, path = self.entries().get(name), self.folder / name
        return entry is None or any(
            (digest if size is None else digest_of(path, size)) == expected for expected, size in _versions(entry)
        )

    def kept(self, name: str, data: bytes) -> bytes | None:
        """What was written of a file that holds this: all, but for an append cut short; None if it is damaged."""
        entry = self.entries().get(name)
        if entry is None:
            return data
        for expected, size in _versions(entry):
            if hashlib.sha256(data if size is None else data[:size]).hexdigest() == expected:
                return data if entry.was_size is None else data[:size]
        return None

    def announce(self, hashes: Mapping[str, str | None], grown: tuple[int, int] | None = None) -> None:
        """Write down what these files are about to hold; None for one that is about to be removed.

        `grown`: the sizes of one that is appended to, before and after.
        """
        if self.entries() and self._torn:
            self.settle()
        was_size, size = grown or (None, None)
        entries = {
            name: Entry(digest, was, size, before if grown is None else was_size)
            for name, digest in hashes.items()
            for was, before in [self._replaced(name)]
        }
        data = "".join(json.dumps(entry.line(name)) + "\n" for name, entry in entries.items()).encode()
        known = self._version
        try:
            files.append(self.path, data, sync=True)
            version = files.version(self.path.stat())
        except OSError as error:
            raise FileError(f"cannot write {self.path}: {files.reason(error, self.folder)}") from None
        if known is not None and (known[1] + len(data), known[2]) == version[1:]:  # else it is read when it is needed
            self._entries |= entries
            self._version = version

    def done(self, hashes: Mapping[str, str | None]) -> None:
        """What was announced is in place: the next announcement need not look."""
        self._in_place |= hashes
        self.written = True

    def in_place(self, name: str) -> str | None:
        """The hash of a file that is there and whole; None of any other."""
        entry, present = self.entries().get(name), self._present(name)
        return present if entry is None or present in entry[:2] else None

    def _replaced(self, name: str) -> tuple[str | None, int | None]:
        """The hash of what a write replaces, and of how many bytes. Damaged content does not become good by being
        replaced."""
        entry = self.entries().get(name)
        if entry is None or self._is_known(name, entry):
            return self._present(name), None
        versions = _versions(entry)
        return next((each for each in versions if digest_of(self.folder / name, each[1]) == each[0]), versions[0])

    def _present(self, name: str) -> str | None:
        """The hash of what is there now, without looking if this process put it there."""
        entry = self.entries().get(name)
        known = entry is not None and self._is_known(name, entry)
        return self._in_place[name] if known else digest_of(self.folder / name)

    def _is_known(self, name: str, entry: Entry) -> bool:
        return self._in_place.get(name, "") == entry.sha256

    def settle(self) -> None:
        """One line per file; of files that this process put in place, nothing but the new content counts from now on.

        Files that are written otherwise, as the journal, which is appended to, are listed as far as they are written.
        Only the one process that may write to the run calls this, when it is done.
        """
        lines: dict[str, dict[str, Any]] = {}
        for name, entry in self.entries().items():
            settled = self._is_known(name, entry)
            if settled and entry.sha256 is not None:
                lines[name] = Entry(entry.sha256, entry.sha256).line(name)
            elif not settled and (entry.size is None or entry.was_size is not None):
                lines[name] = entry.line(name)
        for name in names(self.folder):
            if name not in lines:
                lines[name] = self._appended(name).line(name)
        files.write_atomic(self.path, "".join(json.dumps(line) + "\n" for line in lines.values()).encode())
        self.written = False

    def _appended(self, name: str) -> Entry:
        """Of a file that is appended to; it stays as it was if what it spoke of is damaged."""
        if self.whole(name, None) or name not in self.entries():
            files.sync(self.folder / name)  # else the manifest could survive a power cut, and what it speaks of not
            size = (self.folder / name).stat().st_size
            digest = digest_of(self.folder / name, size)
            return Entry(digest, digest, size)
        return self.entries()[name]


def _versions(entry: Entry) -> tuple[tuple[str | None, int | None], tuple[str | None, int | None]]:
    """(hash, of how many bytes) of the content that was announced and of what it replaces."""
    return (entry.sha256, entry.size), (entry.was, entry.was_size)


def names(folder: Path) -> list[str]:
    """The files of a run, but for the manifest, locks and what is not finished."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    relative = sorted(path.relative_to(folder).as_posix() for path in paths)
    return [
        name
        for name in relative
        if name != NAME and not name.startswith(".lock") and not name.endswith(files.TEMPORARY)
    ]


def most(name: str) -> int:
    """Bytes that a file of this name may have."""
    return LARGEST_TEXT if name.endswith((".json", ".jsonl", ".toml", ".txt", ".md")) else LARGEST_FILE


def digest_of(path: Path, size: int | None = None) -> str | None:
    """The SHA-256 of a file, or of its first bytes; None where there is none, or where it is a device or a pipe."""
    if not path.is_file():
        return None
    if path.stat().st_size > most(path.name):
        return "too large"  # nothing that was ever written
    try:
        with path.open("rb") as file:
            if size is not None:
                return hashlib.sha256(file.read(size)).hexdigest()
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileError(f"cannot read {path}: {files.reason(error, path.parent)}") from None


def _inside(name: Any) -> bool:
    """Whether it names a file of the folder."""
    return isinstance(name, str) and not name.startswith("/") and ".." not in name.split("/")

"""A run is a folder. Its files are written atomically by one process at a time, and checked when they are read."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from replab import files
from replab.errors import RunError
from replab.records.manifest import Manifest, digest_of

KEYS = {  # what readers rely on, per file: JSON of another program, or edited, is refused as such
    "environment.json": ("replab", "python", "packages", "device", "processor", "threads"),
    "input.json": ("data", "fingerprint", "train_images", "test_images", "channels", "height", "width", "classes"),
    "facts.json": ("parameters", "trainable", "peak_memory", "inference_images_per_second", "structure"),
    "split.json": ("validation_images",),
    "epochs.jsonl": ("epoch",),
    "times.jsonl": ("stage", "seconds"),
}


class RunFolder:
    """The files of one run, by name."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.manifest = Manifest(folder)
        self._locked = False

    @property
    def id(self) -> str:
        return self.folder.name

    def path(self, name: str) -> Path:
        return self.folder / name

    def has(self, name: str) -> bool:
        return self.path(name).is_file()

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """One writer per run; a second one is told so. What a killed one left half-written is removed."""
        with self._held():
            for left in self.folder.rglob(f"*{files.TEMPORARY}"):
                left.unlink(missing_ok=True)
            yield
            if self.manifest.written:
                self.manifest.settle()

    def writing(self) -> contextlib.AbstractContextManager[None]:
        """The lock, if this record does not hold it already: every write is by one process at a time."""
        return contextlib.nullcontext() if self._locked else self._held()

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        busy = f"run {self.id} is being written by another process; wait for it, or stop it"
        with files.lock(self.path(".lock"), busy):
            self._locked = True
            try:
                yield
            finally:
                self._locked = False

    @contextlib.contextmanager
    def replacing(self, name: str) -> Iterator[IO[bytes]]:
        """A new file to write to, which takes its place and enters the manifest if the block ends without an error."""
        path, hashes = self.path(name), dict[str, str | None]()

        def announce(digest: str) -> None:
            hashes[name] = digest
            self.manifest.announce(hashes)

        with self.writing():
            if path.parent != self.folder:
                with contextlib.suppress(OSError):  # opening the file says what is wrong
                    path.parent.mkdir(exist_ok=True)
            with files.replacing(path, announce) as file:
                yield file
            self.manifest.done(hashes)

    def write_bytes(self, name: str, data: bytes) -> None:
        with self.replacing(name) as file:
            file.write(data)

    def read_bytes(self, name: str) -> bytes:
        """The file's content, if it is what was written."""
        for _ in range(3):  # another process may be writing it: the file is read first, its manifest's line after it
            try:
                if not self.has(name):
                    raise RunError(f"run {self.id}: {name} is missing; replab verify {self.id} says what can be done")
                data = self.path(name).read_bytes()
            except OSError as error:
                raise RunError(f"run {self.id}: {name} cannot be read ({error.strerror or error})") from None
            if self.manifest.whole(name, hashlib.sha256(data).hexdigest()):
                return data
        raise self._damaged(name)

    def checked(self, name: str) -> Path:
        """The path of a file that is what was written, for readers of large files."""
        for _ in range(3):
            if self.manifest.whole(name, digest_of(self.path(name))):
                return self.path(name)
        raise self._damaged(name)

    def _damaged(self, name: str) -> RunError:
        return RunError(
            f"run {self.id}: {name} is damaged: it is not what was written (SHA-256);"
            f" replab verify {self.id} says what can be done"
        )

    def write_text(self, name: str, text: str) -> None:
        self.write_bytes(name, text.encode())

    def read_text(self, name: str) -> str:
        try:
            return self.read_bytes(name).decode()
        except UnicodeDecodeError as error:
            raise RunError(f"run {self.id}: {name} is corrupt: it is not text ({error})") from None

    def write_json(self, name: str, value: Any) -> None:
        self.write_text(name, json.dumps(value, indent=1) + "\n")

    def read_json(self, name: str, default: Any) -> Any:
        if not self.has(name):
            return default
        value = self._parsed(name, self.read_text(name))
        if not isinstance(value, dict if default is None else type(default)):
            raise RunError(f"run {self.id}: {name} is not replab's: it holds a {type(value).__name__}")
        self._check_keys(name, value)
        return value

    def _parsed(self, name: str, text: str) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:  # RecursionError: nested too deeply
            raise RunError(f"run {self.id}: {name} is corrupt ({error}); remove the run folder and run again") from None

    def _check_keys(self, name: str, value: Any) -> None:
        missing = [key for key in KEYS.get(name, ()) if not isinstance(value, dict) or key not in value]
        if missing:
            raise RunError(f"run {self.id}: {name} is not replab's: it lacks {missing[0]!r}; run again")

    def write_lines(self, name: str, rows: list[Any]) -> None:
        self.write_text(name, "".join(json.dumps(row) + "\n" for row in rows))

    def read_lines(self, name: str) -> list[Any]:
        if not self.has(name):
            return []
        rows = [self._parsed(name, line) for line in self.read_text(name).splitlines()]
        for row in rows:
            self._check_keys(name, row)
        return rows

"""A run is a folder. Its files are written atomically by one process at a time, and checked when they are read."""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from replab import files
from replab.errors import FileError, RunError
from replab.records.lines import Lines, as_it_is
from replab.records.manifest import Manifest, digest_of, most

WHOLE, NUMBER, TEXT, TABLE = "a whole number", "a number", "text", "a table"
TEXTS, NUMBERS = "a list of texts", "a list of numbers"
# What readers rely on, per file: JSON of another program, or edited, is refused as such. Keys that end in "?" may be
# absent or null; "*" is every other key.
FORMS: dict[str, dict[str, str]] = {
    "environment.json": {"replab": TEXT, "python": TEXT, "packages": TABLE, "device": TEXT, "processor": TEXT,
                         "threads": WHOLE, "ddp?": TABLE},
    "input.json": {"data": TEXT, "fingerprint": TEXT, "train_images": WHOLE, "test_images": WHOLE, "channels": WHOLE,
                   "height": WHOLE, "width": WHOLE, "classes": TEXTS, "mean?": NUMBERS, "std?": NUMBERS, "task?": TEXT,
                   "model_sha256?": TEXT, "weights_sha256?": TEXT, "shared_images?": WHOLE,
                   "train_pixel_mean?": NUMBER, "test_pixel_mean?": NUMBER, "train_pixel_std?": NUMBER},
    "facts.json": {"parameters": WHOLE, "trainable": WHOLE, "peak_memory": NUMBER,
                   "inference_images_per_second": NUMBER, "structure": TEXT, "macs?": NUMBER, "unsteadiness?": NUMBER,
                   "table?": TEXT},
    "split.json": {"validation_images": WHOLE, "train_images?": WHOLE},
    "metrics.json": {"*": NUMBER},
    "epochs.jsonl": {"epoch": NUMBER, "*": NUMBER},
    "times.jsonl": {"stage": TEXT, "seconds": NUMBER},
    "study.jsonl": {"number": WHOLE, "params": TABLE, "state": TEXT, "value?": NUMBER, "best_epoch?": WHOLE,
                    "error?": NUMBER, "losses?": NUMBERS, "reason?": TEXT},
}  # fmt: skip
MOST = 2**53  # of counts and sizes
MOST_PIXELS = 2**28  # of one image


class RunFolder:
    """The files of one run, by name."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.manifest = Manifest(folder)
        self._locked = False
        self.lines: defaultdict[str, Lines] = defaultdict(Lines)  # of the files of rows that this process writes

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
                if path.parent.is_symlink():  # it would lead out of the run
                    raise RunError(f"run {self.id}: {path.parent.name} is a link, not a folder; remove it")
                with contextlib.suppress(OSError):  # opening the file says what is wrong
                    path.parent.mkdir(exist_ok=True)
                    files.sync_folder(self.folder)
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
                data = files.read(self.path(name), most(name))
            except (OSError, MemoryError) as error:
                reason = getattr(error, "strerror", None) or error or "it does not fit into memory"
                raise RunError(f"run {self.id}: {name} cannot be read ({reason})") from None
            if (kept := self.manifest.kept(name, data)) is not None:
                return kept
        raise self._damaged(name)

    def checked(self, name: str) -> Path:
        """The path of a file that is what was written, for readers of large files."""
        try:
            if (size := self.path(name).stat().st_size) > most(name):
                raise RunError(f"run {self.id}: {name} has {size:,} bytes, more than {most(name):,}")
            for _ in range(3):
                if self.manifest.whole(name, digest_of(self.path(name))):
                    return self.path(name)
        except OSError as error:
            raise RunError(f"run {self.id}: {name} cannot be read ({error.strerror or error})") from None
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
        self._check_form(name, value)
        return value

    def _parsed(self, name: str, text: str) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:  # RecursionError: nested too deeply
            raise RunError(f"run {self.id}: {name} is corrupt ({error}); remove the run folder and run again") from None

    def _check_form(self, name: str, value: Any) -> None:
        if fault := misfit(value, FORMS.get(name, {})):
            raise RunError(f"run {self.id}: {name} is not replab's: {fault}; run again")

    def write_lines(self, name: str, rows: Sequence[Any], plain: Callable[[Any], Any] = as_it_is) -> None:
        """All rows; those that this process has written there already are not written again. `plain`: one for JSON."""
        path, lines = self.path(name), self.lines[name].follow(rows, plain)
        with self.writing():
            if (new := lines.to_append(path)) is None:
                self.write_text(name, lines.text())
            elif new:
                digest, sizes = lines.after(new)
                self.manifest.announce({name: digest}, sizes)
                try:
                    files.append(path, new, sync=True)
                except OSError as error:
                    raise FileError(f"cannot write {path}: {files.reason(error, self.folder)}") from None
                self.manifest.done({name: digest})
            lines.written(path)
        self.lines[name] = lines

    def read_lines(self, name: str) -> list[Any]:
        if not self.has(name):
            return []
        rows = [self._parsed(name, line) for line in self.read_text(name).splitlines()]
        for row in rows:
            self._check_form(name, row)
        return rows


def misfit(value: Any, form: dict[str, str]) -> str:
    """What of a JSON object is missing or of another type than replab writes; nothing where it fits."""
    if not form:
        return ""
    if not isinstance(value, dict):
        return f"it holds a {type(value).__name__}, not a table"
    for word, kind in form.items():
        key, optional = word.removesuffix("?"), word.endswith("?")
        if key == "*":
            odd = (k for k, found in value.items() if found is not None and not _fits(found, kind))
            if (odd_key := next(odd, None)) is not None:
                return f"{odd_key[:40]!r} must be {kind}"
        elif value.get(key) is None and (optional or key not in value):
            if not optional:
                return f"it lacks {key!r}"
        elif not _fits(value[key], kind):
            return f"{key} must be {kind}"
    if "height" in form and not 0 < value["channels"] * value["height"] * value["width"] <= MOST_PIXELS:
        return "an image must have pixels, and at most 2^28"
    return ""


def _fits(value: Any, kind: str) -> bool:
    if kind in (WHOLE, NUMBER):
        fits = isinstance(value, int if kind == WHOLE else (int, float)) and not isinstance(value, bool)
        return fits and (isinstance(value, float) or abs(value) <= MOST) and (kind == NUMBER or value >= 0)
    if kind in (TEXTS, NUMBERS):
        return isinstance(value, list) and all(_fits(each, TEXT if kind == TEXTS else NUMBER) for each in value)
    return isinstance(value, str if kind == TEXT else dict)

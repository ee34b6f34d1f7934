"""Record: what a run's folder holds, made, found, written and read. Reading executes no code and needs no torch."""

from __future__ import annotations

import contextlib
import difflib
import io
import itertools
import os
import re
import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from replab import files
from replab.errors import FileError, RunError
from replab.records import checkpoint
from replab.records.folder import RunFolder
from replab.records.trial import Trial
from replab.settings.recipe import Recipe

MARK = "replab-run"  # in environment.json: a folder without it is not ours
FIRST = ("recipe.toml", "model_file.txt", "manifest.jsonl", ".lock", ".lock.pid")  # files before environment.json
MOST = 2**33  # bytes of all arrays of an .npz file
ABANDONED = 600.0  # seconds
LATEST = "latest"  # names the run that was started last


class Record(RunFolder):
    """What a run's files hold. Methods come in pairs, a writer and a reader."""

    def __init__(self, folder: Path):
        super().__init__(folder)
        self._recipes: dict[str, tuple[Any, Recipe]] = {}

    # -- making and finding ------------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls, runs: Path, recipe: Recipe, environment: Mapping[str, Any], texts: Mapping[str, str] | None = None
    ) -> Record:
        """A new folder of its own, even when two runs start in the same second. `texts`: files of the user's code."""
        words = (Path(recipe.model.split(":")[0]).stem, Path(recipe.data).stem)
        name = time.strftime("%Y%m%d-%H%M%S-") + re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(words))
        try:
            runs.mkdir(parents=True, exist_ok=True)
            sweep(runs)
            folder = own_folder(runs, name)
        except OSError as error:
            raise RunError(
                f"cannot write runs to {runs}: {error.strerror or error}; --runs FOLDER names another"
            ) from None
        record = cls(folder)
        try:
            _sync(runs)  # its name, too, has to survive a power cut
            record.write_text("recipe.toml", recipe.to_toml())
            for file, text in (texts or {}).items():
                record.write_text(file, text)
            record.write_json("environment.json", {"kind": MARK, **environment})  # last: what it marks can be resumed
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return record

    @classmethod
    def open(cls, run: str | Path, runs: Path) -> Record:
        """By path, by id or the beginning of one, or the `latest`."""
        record = cls(find(run, runs))
        environment = record.read_json("environment.json", None)
        if not isinstance(environment, dict) or environment.get("kind") != MARK:
            raise RunError(
                f"{record.folder} is not a run: environment.json is missing or not replab's; replab runs lists all"
            )
        return record

    @classmethod
    def all(cls, runs: Path) -> list[Record]:
        """Every run in a folder of runs; other folders, and those that may not be read, are passed over."""
        try:
            folders = sorted(runs.iterdir()) if runs.is_dir() else []
        except OSError as error:
            raise RunError(f"cannot read the runs in {runs}: {error.strerror}; --runs FOLDER names another") from None
        return [cls(folder) for folder in folders if is_run(folder)]

    # -- what a run holds --------------------------------------------------------------------------------------------

    def recipe(self) -> Recipe:
        return self._recipe("recipe.toml")

    def chosen(self) -> Recipe:
        """The recipe with everything decided."""
        chosen = self._recipe("chosen.toml")
        if chosen.lr is None or chosen.epochs is None:
            raise RunError(f"run {self.id}: chosen.toml leaves the learning rate or the epochs open; run again")
        return chosen

    def _recipe(self, name: str) -> Recipe:
        """Parsed once, as long as the file stays the same."""
        try:
            version = files.version(self.path(name).stat())
        except OSError:
            version = None  # reading it says what is wrong
        if version is None or self._recipes.get(name, (None,))[0] != version:
            self._recipes[name] = (version, Recipe.from_toml(self.read_text(name), f"run {self.id}: {name}"))
        return self._recipes[name][1]

    def write_trials(self, trials: Sequence[Trial]) -> None:
        self.write_lines("study.jsonl", trials, Trial.to_dict)

    def trials(self) -> list[Trial]:
        try:
            return [Trial(**row) for row in self.read_lines("study.jsonl")]
        except (TypeError, ValueError) as error:
            raise RunError(f"run {self.id}: study.jsonl is not replab's ({error})") from None

    def write_weights(self, state: Mapping[str, np.ndarray]) -> None:
        import safetensors.numpy

        self.write_bytes(
            "model.safetensors",
            safetensors.numpy.save({k: np.asarray(v, order="C") for k, v in state.items()}),
        )

    def weights(self) -> dict[str, np.ndarray]:
        import safetensors
        import safetensors.numpy

        if not self.has("model.safetensors"):
            raise RunError(f"run {self.id} has no trained model yet; replab resume {self.id} finishes it")
        try:
            return safetensors.numpy.load(self.read_bytes("model.safetensors"))
        except Exception as error:  # it has its own, and NumPy's of types it does not know
            raise RunError(f"run {self.id}: model.safetensors is corrupt ({error})") from None

    def write_predictions(self, arrays: Mapping[str, np.ndarray], name: str = "predictions.npz") -> None:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
        self.write_bytes(name, buffer.getvalue())

    def predictions(self, name: str = "predictions.npz") -> dict[str, np.ndarray]:
        if not self.has(name):
            raise RunError(f"run {self.id} has no predictions yet; replab resume {self.id} finishes it")
        data = self.read_bytes(name)
        try:
            check_sizes(io.BytesIO(data))
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                return dict(file)
        except Exception as error:
            raise RunError(f"run {self.id}: {name} is corrupt ({error})") from None

    def write_checkpoint(self, state: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], save: Any) -> None:
        """The state after the last of these rows. `save(state, file)` is the backend's."""
        checkpoint.write(self, state, rows, save)

    def checkpoint(
        self, load: Callable[[Path], Any], notice: Callable[[str], None] = lambda text: None
    ) -> tuple[Mapping[str, Any], list[Any]] | None:
        """(state, rows up to it) of the newest whole one. `load` must refuse code (torch's weights_only)."""
        return checkpoint.read(self, load, notice)

    def drop_checkpoints(self) -> None:
        checkpoint.drop(self)


def sweep(runs: Path, older: float = ABANDONED) -> None:
    """Remove what runs that were killed as they began left: folders in which nothing is but a recipe, for minutes."""
    for folder in runs.iterdir():
        with contextlib.suppress(OSError):
            begun = re.fullmatch(r"\d{8}-\d{6}-.+", folder.name) and folder.is_dir() and not folder.is_symlink()
            if begun and time.time() - folder.stat().st_mtime >= older and _is_stillborn(folder):
                shutil.rmtree(folder)


def _sync(folder: Path) -> None:
    try:
        files.sync_folder(folder)
    except OSError as error:
        raise FileError(f"cannot write {folder}: {files.reason(error, folder)}") from None


def _is_stillborn(folder: Path) -> bool:
    names = [path.name for path in folder.iterdir()]
    return all(name in FIRST or name.endswith(files.TEMPORARY) for name in names)


def own_folder(runs: Path, name: str) -> Path:
    """A new one. mkdir is atomic: of two runs that start at once, one gets the next number."""
    for attempt in itertools.count(1):
        folder = runs / (name if attempt == 1 else f"{name}-{attempt}")
        with contextlib.suppress(FileExistsError):
            folder.mkdir(parents=True)
            return folder
    raise AssertionError


def runs_folder(runs: str | Path | None = None) -> Path:
    """Where runs are kept: as given, $REPLAB_RUNS, or ./runs."""
    return Path(runs or os.environ.get("REPLAB_RUNS") or "runs")


def check_writable(runs: Path) -> None:
    """Refuse a folder that cannot be made or written to, long before a run's first file. Nothing is left there."""
    there = next((place for place in (runs.absolute(), *runs.absolute().parents) if place.exists()), runs)
    if not there.is_dir():
        raise RunError(f"cannot write runs to {runs}: {there} is a file; --runs FOLDER names another")
    try:
        Path(tempfile.mkdtemp(prefix=".replab-", dir=there)).rmdir()  # the only way to know: rights, quotas, odd disks
    except OSError as error:
        raise RunError(
            f"cannot write runs to {runs}: {there}: {error.strerror or error}; --runs FOLDER names another"
        ) from None


def find(run: str | Path, runs: Path) -> Path:
    """The folder that a path, an id, the beginning of an id or `latest` means."""
    name = str(run)
    if name and (folder := next((f for f in (Path(run), runs / name) if f.is_dir()), None)):
        return folder
    if not runs.is_dir():
        raise RunError(f"no run {name!r}: there is no folder {runs}; --runs FOLDER names another")
    ids = [record.id for record in Record.all(runs)]
    if name == LATEST and ids:
        return runs / max(ids, key=lambda id: (id[:15], _changed(runs / id / "recipe.toml")))
    begun = [id for id in ids if name and id.startswith(name)]
    if len(begun) == 1:
        return runs / begun[0]
    if begun:
        raise RunError(f"{name!r} is the beginning of {len(begun)} runs, {begun[0]}, {begun[1]} …; type more of it")
    near = difflib.get_close_matches(name, ids, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise RunError(f"no run {name!r} in {runs}.{hint} (replab runs lists all)")


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # removed meanwhile
        return 0


def is_run(folder: Path) -> bool:
    try:
        return (folder / "environment.json").is_file() and (folder / "recipe.toml").is_file()
    except OSError:  # it may not be read
        return False


def header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, order and type of a .npy member."""
    version = np.lib.format.read_magic(file)
    read: Any = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
    shape, fortran, dtype = read(file)
    return shape, fortran, dtype


def check_sizes(where: Any) -> None:
    """ValueError for an .npz whose arrays ask for more than it has, or unpack to more than memory has."""
    with zipfile.ZipFile(where) as archive:
        members = archive.infolist()
        if (total := sum(member.file_size for member in members)) > MOST:
            raise ValueError(f"it unpacks to {total:,} bytes, more than {MOST:,}")
        for member in members:
            with archive.open(member) as file:
                shape, _, dtype = header(file)
            if dtype.hasobject or int(np.prod(shape, dtype=object)) * dtype.itemsize > member.file_size:
                raise ValueError(f"{member.filename} says {shape} of {dtype} and has {member.file_size:,} bytes")

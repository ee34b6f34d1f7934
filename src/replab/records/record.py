"""A run is a folder. All of it is written under a temporary name and renamed, and read without executing code."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from replab.errors import RunError
from replab.search.search import Trial
from replab.settings.recipe import Recipe

MARK = "replab-run"  # environment.json says it: a folder without it is not ours

KEYS = {  # what readers count on, by file: another program's JSON, or an edited one, is named as such
    "environment.json": ("replab", "python", "packages", "device", "processor", "threads"),
    "input.json": ("data", "fingerprint", "train_images", "test_images", "channels", "height", "width", "classes"),
    "facts.json": ("parameters", "trainable", "peak_memory", "inference_images_per_second", "structure"),
    "split.json": ("validation_images",),
    "epochs.jsonl": ("epoch",),
    "times.jsonl": ("stage", "seconds"),
}


class Record:
    """The files of one run. Methods come in pairs, a writer and a reader."""

    def __init__(self, folder: Path):
        self.folder = folder

    @property
    def id(self) -> str:
        return self.folder.name

    # -- making and finding ------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, runs: Path, recipe: Recipe, environment: Mapping[str, Any]) -> Record:
        """A new folder of its own, even when two runs start in the same second."""
        words = (Path(recipe.model.split(":")[0]).stem, Path(recipe.data).stem)
        name = time.strftime("%Y%m%d-%H%M%S-") + re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(words))
        try:
            runs.mkdir(parents=True, exist_ok=True)
            folder = _own_folder(runs, name)
        except OSError as error:
            raise RunError(
                f"cannot write runs to {runs}: {error.strerror or error}; --runs FOLDER takes another"
            ) from None
        record = cls(folder)
        try:
            record.write_text("recipe.toml", recipe.to_toml())
            record.write_json("environment.json", {"kind": MARK, **environment})
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return record

    @classmethod
    def open(cls, run: str | Path, runs: Path) -> Record:
        """By id, or by path."""
        folders = [Path(run), runs / str(run)]
        folder = next((f for f in folders if f.is_dir()), None)
        if folder is None:
            import difflib

            near = difflib.get_close_matches(str(run), [r.id for r in cls.all(runs)], n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise RunError(f"no run {str(run)!r} in {runs}.{hint} (replab leaderboard lists all)")
        record = cls(folder)
        environment = record.read_json("environment.json", None)
        if not isinstance(environment, dict) or environment.get("kind") != MARK:
            raise RunError(
                f"{folder} is not a run: environment.json is missing or not replab's; replab leaderboard lists all"
            )
        return record

    @classmethod
    def all(cls, runs: Path) -> list[Record]:
        folders = sorted(runs.iterdir()) if runs.is_dir() else []
        return [cls(f) for f in folders if (f / "environment.json").is_file() and (f / "recipe.toml").is_file()]

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """One writer a run; a second one is told so."""
        try:
            import fcntl
        except ImportError:  # Windows: the folder is still ours by its name
            yield
            return
        try:
            file = open(self.folder / ".lock", "w")  # noqa: SIM115 (held open for the whole run)
        except OSError as error:
            raise RunError(f"cannot write to {self.folder}: {error.strerror}") from None
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RunError(f"run {self.id} is being written by another process; wait for it, or stop it") from None
            yield

    # -- plain files -------------------------------------------------------------------------------------------------

    def path(self, name: str) -> Path:
        return self.folder / name

    def has(self, name: str) -> bool:
        return self.path(name).is_file()

    def write_bytes(self, name: str, data: bytes) -> None:
        write_atomic(self.path(name), data)

    def write_text(self, name: str, text: str) -> None:
        self.write_bytes(name, text.encode())

    def read_text(self, name: str) -> str:
        try:
            return self.path(name).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise RunError(
                f"run {self.id}: {name} cannot be read ({getattr(error, 'strerror', None) or error})"
            ) from None

    def write_json(self, name: str, value: Any) -> None:
        self.write_text(name, json.dumps(value, indent=1) + "\n")

    def read_json(self, name: str, default: Any) -> Any:
        if not self.has(name):
            return default
        found = self._parsed(name, self.read_text(name))
        if not isinstance(found, dict if default is None else type(default)):
            raise RunError(f"run {self.id}: {name} is not replab's: it holds a {type(found).__name__}")
        self._check_keys(name, found)
        return found

    def _parsed(self, name: str, text: str) -> Any:
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise RunError(f"run {self.id}: {name} is corrupt ({error}); remove the run folder and run again") from None

    def _check_keys(self, name: str, found: Any) -> None:
        missing = [key for key in KEYS.get(name, ()) if not isinstance(found, dict) or key not in found]
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

    # -- what a run holds --------------------------------------------------------------------------------------------

    def recipe(self) -> Recipe:
        return Recipe.from_toml(self.read_text("recipe.toml"), f"run {self.id}: recipe.toml")

    def chosen(self) -> Recipe:
        """The recipe with everything decided."""
        found = Recipe.from_toml(self.read_text("chosen.toml"), f"run {self.id}: chosen.toml")
        if found.lr is None or found.epochs is None:
            raise RunError(f"run {self.id}: chosen.toml leaves the learning rate or the epochs open; run again")
        return found

    def write_trials(self, trials: list[Trial]) -> None:
        self.write_lines("study.jsonl", [t.to_dict() for t in trials])

    def trials(self) -> list[Trial]:
        try:
            return [Trial(**row) for row in self.read_lines("study.jsonl")]
        except TypeError as error:
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
            return safetensors.numpy.load(self.path("model.safetensors").read_bytes())
        except (safetensors.SafetensorError, ValueError) as error:
            raise RunError(f"run {self.id}: model.safetensors is corrupt ({error})") from None

    def write_predictions(self, arrays: Mapping[str, np.ndarray], name: str = "predictions.npz") -> None:
        import io

        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
        self.write_bytes(name, buffer.getvalue())

    def predictions(self, name: str = "predictions.npz") -> dict[str, np.ndarray]:
        try:
            with np.load(self.path(name), allow_pickle=False) as file:
                return dict(file)
        except FileNotFoundError:
            raise RunError(f"run {self.id} has no predictions yet; replab resume {self.id} finishes it") from None
        except Exception as error:
            raise RunError(f"run {self.id}: {name} is corrupt ({error})") from None

    def write_checkpoint(self, state: Any, save: Any) -> None:
        """The newest and its predecessor: there is a whole one at every moment."""
        path, before = self.path("checkpoint.pt"), self.path("checkpoint.previous.pt")
        new = self.path("checkpoint.pt.tmp")
        try:
            save(state, new)
            if path.is_file():
                os.replace(path, before)
            os.replace(new, path)
        except (OSError, RuntimeError) as error:  # torch says RuntimeError when a disk is full
            new.unlink(missing_ok=True)
            raise RunError(
                f"cannot write {path}: {getattr(error, 'strerror', None) or ' '.join(str(error).split())[:200]};"
                f" free some space, then replab resume {self.id}"
            ) from None

    def checkpoint(self, load: Any) -> Any | None:
        """The newest that can be read. `load` must refuse code (torch's weights_only)."""
        for name in ("checkpoint.pt", "checkpoint.previous.pt"):
            if self.has(name):
                with contextlib.suppress(Exception):
                    return load(self.path(name))
        return None

    def drop_checkpoints(self) -> None:
        for name in ("checkpoint.pt", "checkpoint.previous.pt", "checkpoint.pt.tmp"):
            self.path(name).unlink(missing_ok=True)


def _own_folder(runs: Path, name: str) -> Path:
    """mkdir is atomic: of two runs that start at once, one gets the next number."""
    for attempt in itertools.count(1):
        folder = runs / (name if attempt == 1 else f"{name}-{attempt}")
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise AssertionError


def write_atomic(path: Path, data: bytes) -> None:
    """All of it or nothing, whenever the process is killed."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise RunError(
            f"cannot write {path}: {error.strerror or error}; free some space or name another folder"
        ) from None

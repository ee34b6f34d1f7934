"""A data set of the Hugging Face hub, or one that save_to_disk wrote → Dataset. Needs the package `datasets`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from replab.data.decode.reading import Reading
from replab.data.images import Dataset
from replab.errors import DataError, ReplabError

TESTS = ("test", "validation", "valid", "val")  # which part is for the test: the first that there is


def load(name: str, how: Reading, *, seed: int) -> Dataset:
    """`name` is NAME, NAME:CONFIGURATION, or the path of a folder."""
    from replab.data.objects import dataset_of

    found = _fetched(name)
    try:
        data = dataset_of(_parts(found, name), how, seed=seed)
    except ReplabError as error:
        raise DataError(f"hf:{name}: {error}") from None
    return replace(data, name=Path(name.partition(":")[0]).name)


def _fetched(name: str) -> Any:
    import datasets

    datasets.disable_progress_bars()
    path = Path(name).expanduser()
    try:
        if path.is_dir() and any((path / file).is_file() for file in ("state.json", "dataset_dict.json")):
            return datasets.load_from_disk(str(path))
        if path.is_dir() or name.startswith((".", "/", "~")):
            raise DataError(f"hf:{name} must be a folder that save_to_disk wrote; a folder of images needs no hf:")
        hub, _, configuration = name.partition(":")
        return datasets.load_dataset(hub, configuration or None)
    except ReplabError:
        raise
    except Exception as error:  # datasets raises whatever its many readers do
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"hf:{name} cannot be loaded ({type(error).__name__}: {reason})") from None


def _parts(found: Any, name: str) -> Any:
    """Training and test images, or one part that is to be split."""
    if not hasattr(found, "keys"):
        return found
    if "train" not in found:
        if len(found) == 1:
            return next(iter(found.values()))
        raise DataError(
            f"a data set needs a part named train, got {', '.join(found)}; data=(train, test) takes any two"
        )
    test = next((part for part in TESTS if part in found), None)
    return {"train": found["train"], **({"test": found[test]} if test else {})}

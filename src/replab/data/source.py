"""Data sources by name: a function `read(*, size, seed) -> Dataset` under `@source`, in a file of sources/.

A file's docstring describes its source in one line: shape, counts, origin. It imports nothing slow at its top. With
`@source(shape=(3, 32, 32), classes=10)` a model can be shown for these images before they are downloaded.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from replab import files
from replab.errors import DataError
from replab.registry import Kind

# called with size (None, or the side to resize to) and seed (for what the source draws); gives all images
source = Kind("data set", "replab.data.sources", "source", "replab datasets lists all; a path works too", "replab.data")

LIVE = "python:"  # how a recipe names data that was handed in as an object
HUB = "hf:"  # and one of the Hugging Face hub, or a folder that save_to_disk made


def check(name_or_path: str) -> None:
    """Refuse a name that is not registered and a path that does not exist, without importing anything."""
    if name_or_path.startswith(LIVE):
        raise DataError(
            f"{name_or_path} was an object in a Python session; replab.resume(run, data=...) takes it again"
        )
    if not name_or_path.strip():
        raise DataError("--data must name a data set or a path, got nothing; . is the current folder")
    if name_or_path.startswith(HUB):
        if find_spec("datasets") is None:
            raise DataError(f"{name_or_path} needs the package datasets; pip install 'replab[hf]'")
        return
    path = Path(name_or_path).expanduser()
    if what := files.special(path):
        raise DataError(f"{name_or_path} is {what}; --data takes a folder, a .zip, .npz or .csv file, or a name")
    try:
        there = path.exists()
    except (OSError, ValueError):  # a name too long, or with a NUL
        there = False
    if name_or_path in source.names() or there:
        return
    if "/" in name_or_path or "\\" in name_or_path or path.suffix.lower() == ".zip":
        raise DataError(f"no folder or zip of images at {name_or_path}; replab datasets lists the named ones")
    source.check(name_or_path)


def check_reachable(name: str) -> None:
    """Refuse a published set that is neither on disk nor to be downloaded from here."""
    entry: Any = source.get(name) if name in source.names() else None
    if hasattr(entry, "forms"):
        from replab.data.decode import reach

        reach.check(name, [form.files for form in entry.forms], entry.hosts)

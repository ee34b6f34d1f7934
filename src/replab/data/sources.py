"""Data by name or path → Dataset. A source is a function under `@source(name, description)` in a file here.

Adding a source is adding one file. Files with sources import nothing heavy at module level, so that names are
listed in no time; what is no source's name is taken for a path to a folder or zip of images (folder.py).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from replab.data.images import Dataset, Images
from replab.errors import DataError, UnknownName

# called with (size=None | side to resize to, seed=for what the source draws); gives all images
Source = Callable[..., Dataset]
_registered: dict[str, tuple[Source, str]] = {}


def source(name: str, description: str) -> Callable[[Source], Source]:
    """Make a function `read(*, size, seed) -> Dataset` known under a name."""

    def decorate(read: Source) -> Source:
        _registered[name] = (read, description)
        return read

    return decorate


def names() -> list[str]:
    return sorted(_sources())


def describe(name: str) -> str:
    """One line: shape, counts, origin."""
    return _get(name)[1]


def load(
    name_or_path: str,
    *,
    size: int | None = None,
    seed: int = 3407,
    limit: int | None = None,
    classes: Sequence[str] = (),
    per_class: int | None = None,
) -> Dataset:
    """Images of a source, or of a folder or zip of them (`digits` is the source, `./digits` a folder).

    `size` resizes the short side and crops the centre square; `seed` draws the test images where the data has
    no split of its own, and the `limit` images kept of each half (stratified, at least one a class).
    `classes` keeps some classes alone, `per_class` so many training images of each; test images stay all.
    """
    if size is not None and size < 1:
        raise DataError(f"size must be at least 1 pixel, got {size}; leave it out to keep the images' own")
    if limit is not None and limit < 1:
        raise DataError(f"limit must be at least 1 image, got {limit}; leave it out to use all")
    text = str(name_or_path)
    if text in _sources():
        data = _get(text)[0](size=size, seed=seed)
    else:
        data = _from_path(text, size, seed)
    if classes:
        both = (data.train.of_classes(classes), data.test.of_classes(classes))
        data = _other(data, *both, f"classes {both[0].classes}")
    if per_class is not None:
        data = _other(data, data.train.few(per_class, seed), data.test, f"{per_class} a class, seed {seed}")
    if limit is None or limit >= max(len(data.train), len(data.test)):
        return data
    return _other(data, data.train.take(limit, seed), data.test.take(limit, seed), f"limit {limit} seed {seed}")


def _other(data: Dataset, train: Images, test: Images, how: str) -> Dataset:
    """Other images, so another fingerprint."""
    fingerprint = sha256(f"{data.fingerprint} {how}".encode()).hexdigest()
    return replace(data, train=train, test=test, fingerprint=fingerprint)


def _from_path(text: str, size: int | None, seed: int) -> Dataset:
    from replab.data import folder

    path = Path(text).expanduser()
    if path.exists():
        return folder.load(path, size=size, seed=seed)
    if "/" in text or "\\" in text or path.suffix.lower() == ".zip":
        raise DataError(f"no folder or zip of images at {text}; replab datasets lists the named ones")
    raise UnknownName("data set", text, names(), "replab datasets lists all; a path works too")


def _get(name: str) -> tuple[Source, str]:
    found = _sources()
    if name not in found:
        raise UnknownName("data set", name, found, "replab datasets lists all")
    return found[name]


def _sources() -> dict[str, tuple[Source, str]]:
    """Every registered source, after importing the files here that have some."""
    for path in Path(__file__).parent.glob("*.py"):
        if "\n@source(" in path.read_text(encoding="utf-8"):
            importlib.import_module(f"replab.data.{path.stem}")
    return _registered

"""How a folder or zip of images is laid out: file names → training and test files and their classes.

Three layouts: `train/CLASS/*` with `test/CLASS/*`; `CLASS/*`; or images alone, which have no labels. A single
folder around everything is stepped into.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from replab.errors import DataError
from replab.settings.words import count

EXTENSIONS = {
    ".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".gif", ".bmp", ".dib", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".pbm",
    ".pnm",
}  # fmt: skip
SYSTEM_NAMES = {"__macosx", "thumbs.db", "desktop.ini", "ehthumbs.db"}
VALIDATION_NAMES = {"val", "valid", "validation", "dev"}


class Layout(NamedTuple):
    files: list[str]  # full names, training files first if there is a split
    labels: list[int] | None
    classes: tuple[str, ...]
    train: int | None  # how many are training files; None: no split of its own


def is_ignored(name: str) -> bool:
    """Hidden files and what operating systems leave behind, in any folder."""
    return any(part.startswith(".") or part.lower() in SYSTEM_NAMES for part in name.split("/") if part)


def natural(name: str) -> tuple:
    """Sorts class 2 before class 10."""
    parts = re.split(r"(\d+)", name)
    return ([(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts if p], name)


def layout(names: Iterable[str], where: str) -> Layout:
    """From relative names with `/`; an empty folder's ends with one. `where` is for the errors."""
    names = sorted(names)
    if all(n.endswith("/") for n in names):
        raise DataError(
            f"{where} has no images (.png, .jpg, .gif, .bmp, .tif, .webp, .ppm …); it needs CLASS/*, train/ and"
            " test/CLASS/*, or just images"
        )
    skip = len(_wrapper(names))
    tops = {n[skip:].split("/")[0] for n in names if "/" in n[skip:]}
    if {"train", "test"} <= tops:
        return _with_split(names, skip, where)
    if tops & {"train", "test"} and tops - {"train", "test"} <= VALIDATION_NAMES:
        listed = ", ".join(f"{t}/" for t in sorted(tops))
        raise DataError(f"{where} must have both train/ and test/ if it has one of them, got {listed}: rename one")
    labels, classes = _labels(names, skip, where)
    files = [n for n in names if not n.endswith("/")]
    check_enough(labels, classes, None, len(files), where)
    return Layout(files, labels, classes, None)


def check_enough(labels: Sequence[int] | None, classes: tuple[str, ...], train: int | None, n: int, where: str) -> None:
    """Refuse a class without images to train on, or to test by where a split is to be drawn."""
    counts = Counter(classes[i] for i in labels[:train]) if labels is not None else Counter({"": train or n})
    least, why = (2, "2 images, to train and to test") if train is None else (1, "1 training image")
    for name in classes or ("",):
        if counts[name] < least:
            what = f"class {name!r}" if name else "a set of images"
            raise DataError(f"{where}: {what} must have at least {why}, got {counts[name]}: add images or remove it")
    if train == n:
        raise DataError(f"{where}: test/ must have at least 1 image, got 0: add some, or leave out train/ and test/")


def only_images(names: Iterable[str]) -> tuple[list[str], tuple[str, ...]]:
    """(names without the files that their extension says are no images, a notice of those)."""
    kept: list[str] = []
    others: Counter[str] = Counter()
    for name in names:
        extension = PurePosixPath(name).suffix.lower()
        if name.endswith("/") or not extension or extension in EXTENSIONS:
            kept.append(name)
        else:
            others[extension] += 1
    if not others:
        return kept, ()
    listed = ", ".join(f"{extension} {n:,}" for extension, n in others.most_common(5)) + (
        " …" if len(others) > 5 else ""
    )
    return kept, (f"data: {count(others.total(), 'file')} ignored, no images by extension ({listed})",)


def _with_split(names: list[str], skip: int, where: str) -> Layout:
    halves = {half: [n for n in names if n[skip:].startswith(f"{half}/")] for half in ("train", "test")}
    others = [n[skip:] for n in names if not n[skip:].startswith(("train/", "test/"))]
    if others:
        raise DataError(f"{where}: only train/ and test/ may be there if both are, but {others[0]} is; move it away")
    prefix = {half: skip + len(half) + 1 for half in halves}
    found = {half: _labels(halves[half], prefix[half], f"{where}/{half}") for half in halves}
    (train_labels, classes), (test_labels, test_classes) = found["train"], found["test"]
    files = {half: [n for n in halves[half] if not n.endswith("/")] for half in halves}
    for half in halves:
        if not files[half]:
            raise DataError(f"{where}: {half}/ has no images; add some, or leave out train/ and test/")
    if (train_labels is None) != (test_labels is None):
        raise DataError(f"{where}: train/ and test/ must both have class folders or both have none")
    labels = None
    if train_labels is not None and test_labels is not None:
        unknown = [c for c in test_classes if c not in classes]
        if unknown:
            raise DataError(f"{where}: every test class must be in train/, but {unknown[0]!r} is not; add or remove it")
        number = {name: i for i, name in enumerate(classes)}
        labels = train_labels + [number[test_classes[i]] for i in test_labels]
        empty = set(classes) - {classes[i] for i in train_labels}
        if empty:
            raise DataError(f"{where}: train class {min(empty)!r} has 0 images; add some or remove the folder")
    return Layout(files["train"] + files["test"], labels, classes, len(files["train"]))


def _labels(names: list[str], skip: int, where: str) -> tuple[list[int] | None, tuple[str, ...]]:
    """Each file's class: the first folder after `skip` characters. (None, ()) if no file is in a folder."""
    files = [n[skip:] for n in names if not n.endswith("/")]
    loose = [n for n in files if "/" not in n]
    folders = {n[skip:].split("/")[0] for n in names if "/" in n[skip:]}
    if not folders:
        return None, ()
    if loose:
        raise DataError(
            f"{where}: either all files are in class folders or none, but {loose[0]} is in none"
            f" ({len(loose)} of {len(files)} files); move or remove it"
        )
    classes = tuple(sorted(folders, key=natural))
    number = {name: i for i, name in enumerate(classes)}
    return [number[n.split("/")[0]] for n in files], classes


def _wrapper(names: list[str]) -> str:
    """The folders that hold everything, as `a/b/`."""
    prefix = ""
    while True:
        first = names[0][len(prefix) :].split("/")[0] + "/"
        if not all(n.startswith(prefix + first) and len(n) > len(prefix + first) for n in names):
            return prefix
        prefix += first

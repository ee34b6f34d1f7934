"""A table of image files and their labels → Dataset: rows with `path`, `label` and perhaps `split` (train or test)."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from replab import files
from replab.data.decode import cache, folder
from replab.data.decode.decoded import dataset
from replab.data.decode.layout import Layout, natural
from replab.data.decode.reading import Reading
from replab.data.images import Dataset
from replab.errors import DataError

LARGEST = 2**30  # bytes of a CSV file


def load_csv(path: Path, how: Reading, *, seed: int) -> Dataset:
    """Paths are relative to the file's own folder."""
    try:
        if path.stat().st_size > LARGEST:
            raise DataError(f"{path} must be a table of paths and labels, got {path.stat().st_size:,} bytes")
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read as CSV ({getattr(error, 'strerror', None) or error})") from None
    return load(rows, path.parent, path.stem, how, seed=seed)


def load(rows: Sequence[Mapping[str, Any]], base: Path, name: str, how: Reading, *, seed: int) -> Dataset:
    plan = _plan(rows, name)
    places = {file: base / file for file in plan.files}
    missing = [file for file, place in places.items() if not _is_file(place)]
    if missing:
        listed = ", ".join(missing[: folder.LISTED]) + (" …" if len(missing) > folder.LISTED else "")
        raise DataError(
            f"{name}: {len(missing):,} of {len(plan.files):,} files do not exist: {listed};"
            f" paths are relative to {base}"
        )
    order = f"table {plan.labels} {plan.classes} {plan.train}, {how}"
    key = cache.content([(file, places[file]) for file in plan.files], order)
    found = cache.decoded(
        key,
        lambda allocate: folder.decode_plan(
            plan, lambda file: files.read(places[file], folder.LARGEST_MEMBER), base / name, how, allocate
        ),
    )
    return dataset(name, found, key, seed)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _plan(rows: Sequence[Mapping[str, Any]], name: str) -> Layout:
    if not rows or not {"path", "label"} <= set(rows[0]):
        have = ", ".join(map(str, rows[0])) if rows else "no rows"
        raise DataError(f"{name} must have the columns path and label (and split, if it has one), got {have}")
    for row in rows:
        if row["path"] in (None, "") or row["label"] in (None, "") or None in row:
            raise DataError(f"{name}: every row needs a path and a label, got {dict(row)}")
    _refuse_other_tasks(rows, name)
    splits = {str(row.get("split") or "") for row in rows}
    if not (splits <= {""} or splits <= {"train", "test"}):
        raise DataError(f"{name}: split must be train or test in every row, or absent, got {', '.join(sorted(splits))}")
    split = splits != {""}
    if split and len(splits) < 2:
        raise DataError(f"{name}: split must have both train and test, got {next(iter(splits))} alone")
    ordered = sorted(rows, key=lambda row: split and row["split"] == "test")  # stable: training files first
    classes = tuple(sorted({str(row["label"]) for row in rows}, key=natural))
    if len(classes) < 2:
        raise DataError(f"{name}: labels must name at least two classes, got {classes[0]!r} alone")
    numbers = {label: i for i, label in enumerate(classes)}
    train = sum(row["split"] == "train" for row in rows) if split else None
    labels = [numbers[str(row["label"])] for row in ordered]
    return Layout([str(row["path"]) for row in ordered], labels, classes, train)


def _refuse_other_tasks(rows: Sequence[Mapping[str, Any]], name: str) -> None:
    """Several labels per image, and numbers to be predicted, are not half-supported."""
    labels: dict[str, str] = {}
    for row in rows:
        path, label = str(row["path"]), str(row["label"])
        if labels.setdefault(path, label) != label:
            raise DataError(
                f"{name}: several labels per image are not supported, got {labels[path]!r} and {label!r} for {path};"
                " keep one row per file"
            )
    present = set(labels.values())
    for label in sorted(present):
        parts = [part.strip() for part in re.split(r"[;|,]", label)]
        if len(parts) > 1 and present.issuperset(parts):
            raise DataError(f"{name}: several labels per image are not supported, got {label!r}; keep one of them")
    fractions = [label for label in present if re.fullmatch(r"[-+]?\d*\.\d*[1-9]\d*(e[-+]?\d+)?", label, re.I)]
    if len(fractions) > len(present) / 2:
        raise DataError(f"{name}: regression is not supported, got labels as {min(fractions)}; labels name classes")

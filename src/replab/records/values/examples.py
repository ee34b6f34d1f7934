"""Test images that a classifier's run keeps, so that a count in its confusion matrix leads to the images behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from PIL import Image

from replab.errors import RunError
from replab.records.record import Record

FILE = "examples.npz"
PER_CELL = 12  # images of one (true class, answer)
MOST = 600  # images of a run
SIDE = 64  # pixels: larger images are kept smaller
NONE = np.zeros(0, np.int64)
PIXELS = 1_200_000  # of all images together


@dataclass(frozen=True, eq=False)
class Examples:
    """Of N test images: their numbers among the test images, (N,), and their pixels, uint8 (N, C, H, W)."""

    index: np.ndarray
    pixels: np.ndarray
    map_index: np.ndarray  # (M,): images with a map of what the model looked at
    maps: np.ndarray  # uint8 (M, h, w)
    map_name: str


def choose(labels: np.ndarray, predicted: np.ndarray, surety: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Which test images to keep: of each (true class, answer) the surest few.

    Every cell's surest image comes before any cell's second, mistakes and large cells first, until the room is used.
    """
    order = np.argsort(-surety, kind="stable")
    pairs = labels[order].astype(np.int64) * (int(max(labels.max(), predicted.max())) + 1) + predicted[order]
    _, cell, count = np.unique(pairs, return_inverse=True, return_counts=True)
    by_cell = np.argsort(cell, kind="stable")  # the surest first within each
    place = np.empty(len(cell), int)
    place[by_cell] = np.arange(len(cell)) - (np.cumsum(count) - count)[cell[by_cell]]
    right = labels[order] == predicted[order]
    height, width = shrunk(size)
    room = min(MOST, PIXELS // (height * width))
    ranked = np.lexsort((-count[cell], right, place))
    kept = ranked[place[ranked] < PER_CELL][:room]
    return np.sort(order[kept])


def shrunk(size: tuple[int, int]) -> tuple[int, int]:
    """(height, width) at which images of this size are kept."""
    factor = min(1.0, SIDE / max(size))
    return max(1, round(size[0] * factor)), max(1, round(size[1] * factor))


def resized(pixels: np.ndarray) -> np.ndarray:
    """Images (N, C, H, W) at the size they are kept."""
    height, width = shrunk(pixels.shape[2:])
    if (height, width) == pixels.shape[2:]:
        return pixels
    planes = [Image.fromarray(plane).resize((width, height), Image.Resampling.BOX) for one in pixels for plane in one]
    return np.stack([np.asarray(plane) for plane in planes]).reshape(*pixels.shape[:2], height, width)


def write(
    record: Record, index: np.ndarray, pixels: np.ndarray, maps: Mapping[str, np.ndarray] = MappingProxyType({})
) -> None:
    """`maps`: map_index, maps and map_name of some of them."""
    record.write_predictions({"index": index, "pixels": resized(pixels), **maps}, FILE)


def read(record: Record, images: int) -> Examples | None:
    """Those that a run of so many test images kept; None where it has no such file, as runs of earlier versions."""
    if not record.has(FILE):
        return None
    arrays = record.predictions(FILE)
    if not {"index", "pixels"} <= arrays.keys():
        raise RunError(f"run {record.id}: {FILE} is not replab's: it needs index and pixels")
    index, pixels = arrays["index"], arrays["pixels"]
    fits = pixels.ndim == 4 and index.shape == pixels.shape[:1] and index.dtype.kind in "iu"
    if not fits or pixels.dtype != np.uint8 or pixels.shape[1] not in (1, 3):
        raise RunError(f"run {record.id}: {FILE} is not replab's: it needs one number per uint8 image")
    if len(index) and not 0 <= index.min() <= index.max() < images:
        raise RunError(f"run {record.id}: {FILE} names test image {index.max()}, and there are {images}")
    numbers, maps = arrays.get("map_index", NONE), arrays.get("maps", NONE[:, None, None].astype(np.uint8))
    if maps.ndim != 3 or maps.dtype != np.uint8 or numbers.shape != maps.shape[:1] or numbers.dtype.kind not in "iu":
        raise RunError(f"run {record.id}: {FILE} is not replab's: it needs one number per uint8 map")
    return Examples(index, pixels, numbers, maps, str(arrays.get("map_name", "map"))[:80])


def of_the_size(record: Record) -> tuple[np.ndarray, np.ndarray]:
    """(numbers, pixels) of every test image in a run folder that has the size its model takes, each once."""
    kept, known = record.predictions(), record.read_json("input.json", {})
    size = (known["channels"], known["height"], known["width"])
    found = [(kept["mistake_index"], kept["mistake_pixels"])] if "mistake_index" in kept else []
    shown = read(record, known["test_images"])
    if shown is not None:
        found.append((shown.index, shown.pixels))
    fitting = [(index, pixels) for index, pixels in found if pixels.shape[1:] == size]
    if not fitting:
        return np.empty(0, np.int64), np.empty((0, *size), np.uint8)
    index, first = np.unique(np.concatenate([index for index, _ in fitting]), return_index=True)
    return index, np.concatenate([pixels for _, pixels in fitting])[first]

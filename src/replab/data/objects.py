"""Data as Python objects → Dataset: arrays, a torch or Hugging Face dataset, a table of paths and labels.

What a source reads from disk, a user may also hand in. Pixels become uint8 (N, C, H, W) once; everything after that is
the same. Where there are no test images a fifth of each class is drawn for them, by the seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from replab.data.decode.decoded import Decoded, dataset
from replab.data.decode.pictures import resized
from replab.data.decode.reading import Reading
from replab.data.images import Dataset
from replab.data.mapped import room
from replab.errors import DataError

AS_THEY_ARE = Reading()
FORMS = (
    "(x, y), (x, y, x_test, y_test), a replab.Dataset, a torch Dataset or a pair of them, a Hugging Face dataset,"
    " or a table with the columns path and label"
)


def dataset_of(data: Any, how: Reading = AS_THEY_ARE, *, seed: int = 3407) -> Dataset:
    """The images that an object holds; its name is `arrays`, `torch`, `table` or what the object calls itself."""
    if isinstance(data, Dataset):
        return data
    if _is_table(data):
        from replab.data.decode import table

        rows = [dict(zip(data.columns, row)) for row in data.itertuples(index=False)]
        return table.load(rows, Path.cwd(), "table", how, seed=seed)
    name, found = _decoded(data, how)
    size = how.size
    if size is not None and found.pixels.shape[2:] != (size, size):
        n, channels = found.pixels.shape[:2]
        pixels = resized(found.pixels, size, room((n, channels, size, size)), how.fit)
        found = Decoded.of(pixels, found.labels, found.classes, found.train)
    key = sha256(repr((found.pixels.shape, found.classes, found.train)).encode())
    key.update(np.ascontiguousarray(found.pixels).data)
    key.update(b"" if found.labels is None else np.ascontiguousarray(found.labels).data)
    return dataset(name, found, key.hexdigest(), seed)


def _decoded(data: Any, how: Reading) -> tuple[str, Decoded]:
    if hasattr(data, "keys") and "train" in data.keys():  # noqa: SIM118 (a DatasetDict, or a dict of two)
        parts = [data["train"], *([data["test"]] if "test" in data.keys() else [])]  # noqa: SIM118
        return _named(parts[0]), _joined([_items(part, how) for part in parts])
    if isinstance(data, (tuple, list)) and data and all(_is_array(part) for part in data):
        return "arrays", _arrays(data)
    if isinstance(data, (tuple, list)) and len(data) == 2 and all(_is_dataset(part) for part in data):
        return _named(data[0]), _joined([_items(part, how) for part in data])
    if _is_dataset(data) and not isinstance(data, (tuple, list)):
        return _named(data), _joined([_items(data, how)])
    raise DataError(f"data must be a name, a path, {FORMS}; got {_described(data)}")


# -- arrays ------------------------------------------------------------------------------------------------------------


def _arrays(parts: Sequence[Any]) -> Decoded:
    if len(parts) not in (2, 4):
        raise DataError(f"arrays must be (x, y) or (x, y, x_test, y_test), got {len(parts)} of them")
    halves = [(pixels_of(parts[i]), labels_of(parts[i + 1], len(parts[i]))) for i in range(0, len(parts), 2)]
    return _joined([(pixels, labels, ()) for pixels, labels in halves])


def pixels_of(x: Any) -> np.ndarray:
    """uint8 (N, C, H, W) of images as uint8 or float in [0, 1], gray or colour, channels first or last."""
    array = _numpy(x)
    if array.ndim == 3:
        array = array[:, None]  # gray
    if array.ndim != 4 or not len(array):
        raise DataError(
            f"images must be (N, H, W), (N, C, H, W) or (N, H, W, C), at least one; got shape {array.shape}"
        )
    if array.shape[1] not in (1, 3) and array.shape[3] in (1, 3):
        array = array.transpose(0, 3, 1, 2)
    if array.shape[1] not in (1, 3):
        raise DataError(f"images must have 1 or 3 channels, got shape {array.shape}; take the channels to use")
    if array.dtype == np.uint8:
        return np.ascontiguousarray(array)
    if not np.issubdtype(array.dtype, np.floating):
        raise DataError(f"images must be uint8 or float, got {array.dtype}; x.astype('uint8') if they are 0 to 255")
    if not np.isfinite(array).all():
        raise DataError("images must be finite numbers, got NaN or infinity; clean them first")
    low, high = float(array.min()), float(array.max())
    if low < 0 or high > 1:
        raise DataError(
            f"images as float must lie in [0, 1], got {low:.4g} to {high:.4g};"
            " undo a normalisation, or divide by 255: replab normalises by itself"
        )
    return np.round(array * 255).astype(np.uint8)


def labels_of(y: Any, count: int) -> np.ndarray:
    """int64 (N,) of whole numbers 0 to k-1."""
    array = _numpy(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        hint = "several labels per image are not supported" if array.ndim == 2 else "one label per image is needed"
        raise DataError(f"labels must be (N,), got shape {array.shape}: {hint}")
    if len(array) != count:
        raise DataError(f"{count} images but {len(array)} labels: each image needs one label")
    if not np.issubdtype(array.dtype, np.integer):
        way = "np.unique(y, return_inverse=True)[1] numbers them"
        what = "regression is not supported" if np.issubdtype(array.dtype, np.floating) else way
        raise DataError(f"labels must be whole numbers 0 to k-1, got {array.dtype}; {what}")
    return array.astype(np.int64)


def _joined(halves: Sequence[tuple[np.ndarray, np.ndarray | None, tuple[str, ...]]]) -> Decoded:
    """Training images first; the classes are those of all labels."""
    shapes = {pixels.shape[1:] for pixels, _, _ in halves}
    if len(shapes) > 1:
        raise DataError(f"training and test images must have one shape, got {sorted(shapes)}")
    train = len(halves[0][0]) if len(halves) == 2 else None
    pixels = halves[0][0]
    if train is not None:
        pixels = room((train + len(halves[1][0]), *pixels.shape[1:]))
        pixels[:train], pixels[train:] = halves[0][0], halves[1][0]
    given = [labels for _, labels, _ in halves if labels is not None]
    if not given:
        return Decoded.of(pixels, None, (), train)
    if len(given) != len(halves):
        raise DataError("training and test images must both have labels or both have none")
    labels, names = np.concatenate(given), halves[0][2]
    present = np.unique(labels)
    count = max(int(present[-1]) + 1, len(names))
    if present[0] < 0 or (not names and len(present) != count):
        raise DataError(
            f"labels must be 0 to k-1 without gaps, got {_few(present)};"
            " np.unique(y, return_inverse=True)[1] numbers them"
        )
    if count < 2:
        raise DataError("labels must name at least two classes, got one")
    return Decoded.of(pixels, labels, names or tuple(map(str, range(count))), train)


# -- datasets of other libraries ---------------------------------------------------------------------------------------


def _items(data: Any, how: Reading) -> tuple[np.ndarray, np.ndarray | None, tuple[str, ...]]:
    """(pixels, labels, class names) of a map-style dataset: item by item, once."""
    count, size = len(data), how.size
    if not count:
        raise DataError("a dataset must have at least one item, got none; check its path and split")
    take = _columns(data) or _pair
    pixels, labels = np.empty(0, np.uint8), []
    for i in range(count):
        image, label = take(data[i], i)
        one = _one(image, i)
        if size is not None and one.shape[1:] != (size, size):
            one = resized(one[None], size, fit=how.fit)[0]
        if not i:
            pixels = room((count, *one.shape))
        if one.shape != pixels.shape[1:]:
            raise DataError(
                f"images must be of one shape, got {pixels.shape[1:]} and {one.shape} at {i}; --size resizes them"
            )
        pixels[i] = one
        labels.append(_one_label(label, i))
    unlabelled = all(label is None for label in labels)
    return pixels, None if unlabelled else labels_of(np.array(labels), count), _class_names(data)


def _one_label(label: Any, place: int) -> Any:
    if np.ndim(label) > 0 and np.size(label) != 1:
        raise DataError(f"labels must be one number per image, got {label} at {place}: several are not supported")
    return label if label is None or isinstance(label, str) else np.asarray(label).reshape(-1)[0]


def _pair(item: Any, place: int) -> tuple[Any, Any]:
    if not isinstance(item, (tuple, list)) or len(item) != 2:
        raise DataError(
            f"a dataset must give (image, label), got {_described(item)} at {place}; a class around it whose"
            " __getitem__ returns these two will do"
        )
    return item[0], _numpy(item[1]) if hasattr(item[1], "detach") else item[1]


def _columns(data: Any) -> Any:
    """Of a Hugging Face dataset: how an item's image and label are taken; None for others."""
    names = getattr(data, "column_names", None)
    if not isinstance(names, list):
        return None
    features = dict(getattr(data, "features", None) or {})
    image = _column(names, features, "Image", ("image", "img"))
    label = _column(names, features, "ClassLabel", ("label", "labels", "fine_label"))
    if image is None:
        raise DataError(f"a Hugging Face dataset needs a column of images, got {', '.join(names)}; rename one to image")
    return lambda item, place: (item[image], None if label is None else item[label])


def _column(names: Sequence[str], features: dict[str, Any], kind: str, usual: Sequence[str]) -> str | None:
    typed = [name for name in names if type(features.get(name)).__name__ == kind]
    return next(iter([*typed, *(name for name in usual if name in names)]), None)


def _class_names(data: Any) -> tuple[str, ...]:
    """As torchvision's `classes` or Hugging Face's ClassLabel have them."""
    for feature in dict(getattr(data, "features", None) or {}).values():
        if isinstance(getattr(feature, "names", None), list):
            return tuple(map(str, feature.names))
    names = getattr(data, "classes", None)
    return tuple(map(str, names)) if isinstance(names, (list, tuple)) else ()


def _one(image: Any, place: int) -> np.ndarray:
    """uint8 (C, H, W) of a picture, tensor or array."""
    if hasattr(image, "convert") and hasattr(image, "mode"):  # a PIL picture
        image = np.asarray(image if image.mode in ("L", "RGB") else image.convert("RGB"))
    array = _numpy(image)
    if array.ndim == 3 and array.shape[0] not in (1, 3) and array.shape[2] in (1, 3):
        array = array.transpose(2, 0, 1)
    if array.ndim not in (2, 3):
        raise DataError(f"an image must be (H, W), (C, H, W) or (H, W, C), got shape {array.shape} at {place}")
    return pixels_of((array if array.ndim == 3 else array[None])[None])[0]


# -- telling them apart ------------------------------------------------------------------------------------------------


def _numpy(x: Any) -> np.ndarray:
    return np.asarray(x.detach().cpu() if hasattr(x, "detach") else x)


def _is_array(x: Any) -> bool:
    return hasattr(x, "shape") and hasattr(x, "dtype") and not hasattr(x, "columns")


def _is_table(x: Any) -> bool:
    return hasattr(x, "columns") and hasattr(x, "itertuples")


def _is_dataset(x: Any) -> bool:
    return hasattr(x, "__getitem__") and hasattr(x, "__len__") and not isinstance(x, (str, bytes, dict))


def _named(data: Any) -> str:
    own = type(data).__name__.lower()
    return own if own not in ("dataset", "tensordataset", "subset") else "dataset"


def _described(data: Any) -> str:
    if isinstance(data, (tuple, list)):
        return f"a {type(data).__name__} of {', '.join(type(part).__name__ for part in data[:4]) or 'nothing'}"
    return type(data).__name__


def _few(values: np.ndarray) -> str:
    return ", ".join(map(str, values[:6])) + (" …" if len(values) > 6 else "")

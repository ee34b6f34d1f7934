"""One image that a user gives (a path, bytes, a PIL picture or an array) as the data sources would have read it."""

from __future__ import annotations

import contextlib
import io
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from replab import files
from replab.data.decode.pictures import Unreadable, decode, header
from replab.errors import DataError

LARGEST = 2**29  # bytes of an image file

_lock, _readers, _silence = threading.Lock(), 0, contextlib.ExitStack()


@contextlib.contextmanager
def quiet_pillow() -> Iterator[None]:
    """Without PIL's warnings about odd files: they are refused, or fine.

    Filters of warnings belong to the whole process: the first of several threads sets them, the last puts them back.
    """
    global _readers
    with _lock:
        if not _readers:
            _silence.enter_context(warnings.catch_warnings(action="ignore"))
        _readers += 1
    try:
        yield
    finally:
        with _lock:
            _readers -= 1
            if not _readers:
                _silence.close()


def as_pixels(image: Any, channels: int, height: int, width: int, fit: str = "crop") -> np.ndarray:
    """(C, H, W) uint8 of this size, from a path, the bytes of a file, a PIL picture or a uint8 array."""
    if isinstance(image, np.ndarray):
        from PIL import Image

        array = image.squeeze()  # (1, H, W) and (H, W, 1) are gray
        if array.ndim == 3 and array.shape[-1] not in (3, 4):
            array = array.transpose(1, 2, 0)  # (C, H, W), as tensors are
        if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[-1] not in (3, 4)):
            raise DataError(f"an image array must be (H, W), (H, W, 3) or (3, H, W), got {image.shape}")
        if array.dtype != np.uint8:
            raise DataError(f"an image array must be uint8, got {array.dtype}; scale it to 0..255 first")
        image = Image.fromarray(array)
    if hasattr(image, "save"):  # a PIL picture
        buffer = io.BytesIO()
        image = image if image.mode in ("1", "L", "LA", "P", "I;16", "RGB", "RGBA") else image.convert("RGB")
        image.save(buffer, "PNG")
        data, name = buffer.getvalue(), "the image"
    elif isinstance(image, bytes):
        data, name = image, "the image"
    else:
        name = str(image)
        try:
            data = files.read(Path(image), LARGEST)
        except (OSError, ValueError) as error:  # ValueError: a NUL in its name
            raise DataError(f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from None
    try:
        with quiet_pillow():
            if height == width:
                return decode(data, channels, height, fit)
            w, h = header(data)
            if (h, w) != (height, width):
                rule = f"{name} is {h}x{w}, and the run was made with {height}x{width} images"
                raise DataError(f"{rule}; resize it first")
            return decode(data, channels)
    except Unreadable as error:
        raise DataError(f"{name} cannot be read: {error}") from None

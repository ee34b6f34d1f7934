"""One picture file → uint8 (C, H, W): every common format and mode, resizing, and why a file cannot be read.

Transparency is composited on white. Gray pictures (1-bit, 16-bit, gray palettes too) get 1 channel, others 3.
"""

from __future__ import annotations

import io
from typing import Any, NamedTuple

import numpy as np

# Formats that decode in-process. Not PIL's whole list: EPS, for one, hands the file to an outside program.
FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")
MOST_SIDE = 65_535  # as in a JPEG: of a picture of millions of rows each row costs more than its pixels
MOST_PIXELS = 64_000_000  # larger pictures are refused before they are decoded
GRAY_MODES = {"1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "I;16N"}
TURNED = (2, 3, 4, 5, 6, 7, 8)
SIDEWAYS = (5, 6, 7, 8)  # EXIF orientations that exchange width and height


class Unreadable(Exception):
    """Why one file is not a picture, in a few words."""


class Header(NamedTuple):
    width: int
    height: int


def header(data: bytes) -> Header:
    """A picture's size, without decoding it."""
    picture = _open(data)
    width, height = picture.size
    return Header(height, width) if _orientation(picture) in SIDEWAYS else Header(width, height)


def decode(data: bytes, channels: int | None = None, size: int | None = None, fit: str = "crop") -> np.ndarray:
    """(C, H, W) uint8, C as told or as the picture is: 1 for gray, 3 for colour.

    `size`: the side of the square it becomes (bilinear, antialiased). `fit` says how: crop the centre, pad with black,
    or squish.
    """
    picture = _open(data)
    try:
        picture.load()
    except Exception as error:  # the decoders of PIL raise nearly anything
        raise Unreadable(f"truncated or damaged: {_one_line(error)}") from None
    if _orientation(picture) in TURNED:
        picture = _turned(picture)
    gray = _is_gray(picture) if channels is None else channels == 1
    picture = _eight_bit(picture, "L" if gray else "RGB")
    if size is not None:
        picture = _square(picture, size, fit)
    array = np.asarray(picture)
    return array[None] if gray else array.transpose(2, 0, 1)


def resized(pixels: Any, size: int, out: np.ndarray | None = None, fit: str = "crop") -> np.ndarray:
    """(N, C, H, W) → (N, C, size, size), as `decode` resizes."""
    from PIL import Image

    n, channels = pixels.shape[:2]
    out = np.empty((n, channels, size, size), np.uint8) if out is None else out
    for image, target in zip(pixels, out):
        for channel in range(channels):  # bilinear resizing treats each channel alone
            target[channel] = np.asarray(_square(Image.fromarray(image[channel]), size, fit))
    return out


def _square(picture: Any, size: int, fit: str = "crop") -> Any:
    from PIL import Image

    width, height = picture.size
    if (width, height) == (size, size):
        return picture
    if fit == "squish":
        return picture.resize((size, size), Image.Resampling.BILINEAR)
    side = max(width, height) if fit == "pad" else min(width, height)
    edge = min if fit == "pad" else max
    scaled = tuple(max(1, edge(size, round(length * size / side))) for length in (width, height))
    picture = picture.resize(scaled, Image.Resampling.BILINEAR)  # PIL's bilinear antialiases when it shrinks
    left, top = (scaled[0] - size) // 2, (scaled[1] - size) // 2  # below 0 when padded: what is outside is black
    return picture.crop((left, top, left + size, top + size))


def _open(data: bytes) -> Any:
    from PIL import Image, UnidentifiedImageError

    if not data:
        raise Unreadable("empty, 0 bytes")
    try:
        picture = Image.open(io.BytesIO(data), formats=FORMATS)
    except UnidentifiedImageError:
        raise Unreadable("not an image") from None
    except Image.DecompressionBombError:
        raise Unreadable(f"more than {MOST_PIXELS:,} pixels") from None
    except Exception as error:
        raise Unreadable(f"truncated or damaged: {_one_line(error)}") from None
    if max(picture.size) > MOST_SIDE:
        raise Unreadable(f"{picture.width}x{picture.height} pixels; neither side may have more than {MOST_SIDE:,}")
    if picture.width * picture.height > MOST_PIXELS:
        raise Unreadable(f"{picture.width}x{picture.height} pixels, more than {MOST_PIXELS:,}")
    if picture.mode == "F" or (picture.mode == "I" and picture.format == "TIFF"):
        raise Unreadable("32-bit pixels have no known range; save it with 8 or 16 bits")
    return picture


def _orientation(picture: Any) -> int:
    # read only where there is some: getexif() costs more than decoding a small picture
    if "exif" not in picture.info and picture.format != "TIFF":
        return 1
    try:
        found = picture.getexif().get(0x0112, 1)
    except Exception:  # broken EXIF raises nearly anything; the picture itself may be whole
        return 1
    return found if isinstance(found, int) else 1


def _turned(picture: Any) -> Any:
    from PIL import ImageOps

    try:
        return ImageOps.exif_transpose(picture)
    except Exception as error:  # it writes the EXIF anew, which may fail on what else is in it
        raise Unreadable(f"its EXIF is damaged: {_one_line(error)}") from None


def _is_gray(picture: Any) -> bool:
    if picture.mode not in ("P", "PA"):
        return picture.mode in GRAY_MODES
    palette = np.frombuffer(bytes(picture.getpalette("RGB") or ()), np.uint8).reshape(-1, 3)
    return bool((palette == palette[:, :1]).all())


def _eight_bit(picture: Any, mode: str) -> Any:
    """The picture in mode L or RGB."""
    from PIL import Image

    if picture.mode.startswith("I"):  # 16 bits: PIL's own conversion clips at 255 instead of scaling
        values = np.asarray(picture).astype(np.int64)
        picture = Image.fromarray(((values + 128) // 257).astype(np.uint8))  # 65535 = 257 * 255, rounded
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        white = Image.new("RGBA", picture.size, (255, 255, 255, 255))
        picture = Image.alpha_composite(white, picture)
    # of three equal channels PIL's luma weights give back the same gray
    return picture if picture.mode == mode else picture.convert("RGB").convert(mode)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__

"""PNG files, written with the standard library's zlib."""

from __future__ import annotations

import struct
import zlib

import numpy as np

_COLOR = {1: 0, 2: 4, 3: 2, 4: 6}  # channels → PNG's colour type: grey, grey with alpha, RGB, RGBA


def png_bytes(pixels: np.ndarray) -> bytes:
    """uint8 (H, W) or (H, W, C) as a PNG file's content."""
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    height, width, channels = pixels.shape
    if pixels.dtype != np.uint8 or channels not in _COLOR:
        raise ValueError(f"a PNG holds uint8 in 1 to 4 channels, but got {pixels.dtype} in {channels}")
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # every row starts with its filter: 0, none
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOR[channels], 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

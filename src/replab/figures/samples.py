"""Sample grids as plain pictures, epoch by epoch, and the animation of them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

GAP = 2  # pixels between images
SIDE = 48  # small images are enlarged to about this many pixels: many grids of one run
LARGE = 112  # and to this where one grid is all there is to look at


def tiled(pixels: np.ndarray, columns: int = 8, side: int = SIDE) -> Image.Image:
    """Images (N, C, H, W) uint8 in rows on white, small ones enlarged by a whole factor to about `side` pixels."""
    n, channels, height, width = pixels.shape
    factor = max(1, side // max(height, width))
    columns = min(columns, n)
    rows = -(-n // columns)
    large = pixels.repeat(factor, 2).repeat(factor, 3).transpose(0, 2, 3, 1)  # (N, H, W, C)
    if channels == 1:
        large = large.repeat(3, 3)
    h, w = large.shape[1:3]
    canvas = np.full((rows * (h + GAP) + GAP, columns * (w + GAP) + GAP, 3), 255, np.uint8)
    for i, image in enumerate(large):
        y, x = GAP + (i // columns) * (h + GAP), GAP + (i % columns) * (w + GAP)
        canvas[y : y + h, x : x + w] = image
    return Image.fromarray(canvas)


def png(pixels: np.ndarray, columns: int = 8, side: int = SIDE) -> bytes:
    buffer = io.BytesIO()
    tiled(pixels, columns, side).save(buffer, "PNG")
    return buffer.getvalue()


def animated(pictures: Sequence[Path], milliseconds: int = 400) -> bytes:
    """One GIF of pictures of one size, in order; the last is shown longest."""
    frames = []
    for path in pictures:
        with Image.open(path) as picture:
            frames.append(picture.convert("P", palette=Image.Palette.ADAPTIVE))
    buffer = io.BytesIO()
    times = [milliseconds] * (len(frames) - 1) + [4 * milliseconds]
    frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:], duration=times, loop=0)
    return buffer.getvalue()

"""Images inside a page: many small ones as one sprite, figures as they are or, where they are large, smaller."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from PIL import Image

from replab.records.values import Values
from replab.records.values.examples import resized
from replab.tasks.samples import ROW

COLUMNS = 25  # images in a row of a sprite
LOSSLESS = 32  # pixels: larger images are stored as WebP
LARGE = 250_000  # bytes: a larger figure is stored as WebP
WIDEST = 1800  # pixels
FIGURES = 2_600_000  # bytes of all figures together
FRAMES = 12  # grids of samples


def data_url(data: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def sprite(pixels: np.ndarray) -> dict[str, Any]:
    """Images (N, C, H, W) uint8 side by side: one picture, and where image i is in it."""
    count, channels, height, width = pixels.shape
    columns = max(1, min(COLUMNS, count))
    rows = -(-count // columns)
    canvas = np.zeros((rows, columns, height, width, channels), np.uint8)
    canvas.reshape(-1, height, width, channels)[:count] = pixels.transpose(0, 2, 3, 1)
    joined = canvas.transpose(0, 2, 1, 3, 4).reshape(rows * height, columns * width, channels)
    picture = Image.fromarray(joined[..., 0] if channels == 1 else joined)
    buffer, kind = io.BytesIO(), "png" if max(height, width) <= LOSSLESS else "webp"
    picture.save(buffer, kind, **({"optimize": False, "compress_level": 6} if kind == "png" else {"quality": 85}))
    return {"url": data_url(buffer.getvalue(), kind), "columns": columns, "width": width, "height": height}


def figure_url(data: bytes) -> str:
    """A figure, PNG, for a page."""
    if len(data) <= LARGE:
        return data_url(data, "png")
    with Image.open(io.BytesIO(data)) as picture:
        small = picture.convert("RGB")
        small.thumbnail((WIDEST, 4 * WIDEST))
        buffer = io.BytesIO()
        small.save(buffer, "webp", quality=80)
    return data_url(min(buffer.getvalue(), data, key=len), "webp" if buffer.tell() < len(data) else "png")


def frames(values: Values) -> list[dict[str, Any]]:
    """The grids of samples that were kept during training: at most FRAMES of them, the first and last included."""
    paths = sorted(values.record.path("samples").glob("epoch-*.png"))
    paths = [path for path in paths if path.stem.removeprefix("epoch-").isdecimal() and not path.is_symlink()]
    if len(paths) > FRAMES:
        paths = [paths[round(i * (len(paths) - 1) / (FRAMES - 1))] for i in range(FRAMES)]
    names = [(int(path.stem.removeprefix("epoch-")), f"samples/{path.name}") for path in paths]
    return [{"epoch": epoch, "url": figure_url(values.record.read_bytes(name))} for epoch, name in names]


def reconstructions(values: Values) -> dict[str, Any] | None:
    """Test images, and what an autoencoder makes of them: one sprite, each image before its reconstruction."""
    if not values.record.has("predictions.npz") or not {"originals", "reconstructions"} <= set(values.arrays):
        return None
    pairs = np.stack([values.arrays["originals"], values.arrays["reconstructions"]], 1)  # (N, 2, C, H, W)
    return {**sprite(resized(pairs.reshape(-1, *pairs.shape[2:]))), "count": len(pairs)}


def walks(values: Values) -> dict[str, Any] | None:
    """Straight walks between two points of a latent space: a sprite, `steps` images per walk."""
    if not values.record.has("predictions.npz") or "interpolation" not in values.arrays:
        return None
    images = values.arrays["interpolation"]
    return {**sprite(resized(images)), "steps": ROW, "count": len(images) // ROW}


def explained(values: Values) -> dict[str, Any] | None:
    """Each map of the explained test images, over its image: a sprite, and by image what is where."""
    kept = values.explanations
    if not kept:
        return None
    numbers = values.record.predictions("explanations.npz")["index"]
    tiles: list[np.ndarray] = []
    items = {}
    for number, one in zip(numbers, kept):
        shown = []
        for name, each in one.maps.items():
            deletion, insertion = one.scores[name]
            shown.append({"name": name, "at": len(tiles), "text": f"in {insertion:.2f}, out {deletion:.2f}"})
            tiles.append(overlaid(one.pixels, each))
        items[str(int(number))] = shown
    return {**sprite(np.stack(tiles)), "items": items} if tiles else None


def overlaid(pixels: np.ndarray, each: np.ndarray) -> np.ndarray:
    """A map (H, W) in colours over its image (C, H, W): uint8 (3, H, W)."""
    from matplotlib import colormaps

    low, high = float(each.min()), float(each.max())
    heat = colormaps["viridis"]((each - low) / max(high - low, 1e-9))[..., :3].transpose(2, 0, 1)  # (3, H, W)
    mixed = 0.6 * 255 * heat + 0.4 * np.broadcast_to(pixels, heat.shape)
    return np.asarray(mixed.round().astype(np.uint8))

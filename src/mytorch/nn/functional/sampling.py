"""Images read at any place: affine_grid makes a grid of places, grid_sample reads them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from mytorch.ops.shape import stack
from mytorch.tensor import Tensor

__all__ = ["affine_grid", "grid_sample"]


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """theta (N, 2, 3) or (N, 3, 4), size (N, C, H, W) or (N, C, D, H, W) -> places from -1 to 1, (N, ..., 2 or 3)."""
    rank = len(size) - 2
    if tuple(theta.shape) != (size[0], rank, rank + 1):
        raise ValueError(
            f"Expected a batch of affine matrices of shape {(size[0], rank, rank + 1)}, but got {theta.shape}"
        )
    lines = []
    for n in size[2:]:
        line = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
        lines.append(line if align_corners else line * (n - 1) / n)
    mesh = np.meshgrid(*lines, indexing="ij")[::-1]  # x is the last dim
    points = np.stack([*[m.reshape(-1) for m in mesh], np.ones(mesh[0].size)], -1).astype(theta._array.dtype)
    return Tensor(points).matmul(theta.transpose(1, 2)).reshape(size[0], *size[2:], rank)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """input (N, C, H, W) or (N, C, D, H, W) at grid (N, ..., 2 or 3), whose last dim is x, y(, z) from -1 to 1."""
    rank = input.ndim - 2
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if rank not in (2, 3) or grid.ndim != input.ndim or grid.shape[-1] != rank or grid.shape[0] != input.shape[0]:
        raise RuntimeError(
            f"grid_sampler(): expected 4D or 5D input and a grid of the same rank and batch with size {rank} in the "
            f"last dimension, but got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if mode == "bicubic" and rank == 3:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    sizes = input.shape[2:][::-1]  # x first
    corners = bool(align_corners)
    places = [_unnormalised(grid[..., k], n, corners) for k, n in enumerate(sizes)]
    if mode == "bicubic":
        return _bicubic(input, places, sizes, padding_mode, corners)
    places = [_padded(p, n, padding_mode, corners) for p, n in zip(places, sizes)]
    if mode == "nearest":
        return _read(input, [np.rint(p._array).astype(np.int64) for p in places], sizes)
    low = [np.floor(p._array).astype(np.int64) for p in places]
    share = [p - Tensor(i.astype(p._array.dtype)) for p, i in zip(places, low)]
    total = None
    for corner in itertools.product((0, 1), repeat=rank):
        weight = None
        for s, c in zip(share, corner):
            part = s if c else 1 - s
            weight = part if weight is None else weight * part
        term = _read(input, [i + c for i, c in zip(low, corner)], sizes) * weight.unsqueeze(1)  # type: ignore[union-attr]
        total = term if total is None else total + term
    assert total is not None
    return total


def _unnormalised(p: Tensor, n: int, corners: bool) -> Tensor:
    """From -1..1 to pixels: the ends are the outer pixels' centres, or (without corners) their edges."""
    return (p + 1) * ((n - 1) / 2) if corners else ((p + 1) * n - 1) / 2


def _padded(p: Tensor, n: int, padding: str, corners: bool) -> Tensor:
    if padding == "border":
        return p.clamp(0, n - 1)
    if padding == "zeros":
        return p
    low, span = (0.0, float(n - 1)) if corners else (-0.5, float(n))
    if span == 0:
        return p * 0
    away = (p - low).abs()
    times = Tensor(np.floor(away._array / span).astype(p._array.dtype))
    rest = away - times * span
    even = Tensor(times._array % 2 == 0)
    from mytorch.ops.pointwise import where

    return (where(even, rest, span - rest) + low).clamp(0, n - 1)


def _read(input: Tensor, at: list[np.ndarray], sizes: tuple) -> Tensor:
    """Pixels at whole places (x first), 0 outside: (N, C, ...)."""
    inside = np.ones(at[0].shape, bool)
    flat = np.zeros(at[0].shape, np.int64)
    for p, n in zip(at[::-1], sizes[::-1]):
        inside &= (p >= 0) & (p < n)
        flat = flat * n + np.clip(p, 0, n - 1)
    n, c = input.shape[:2]
    shape = at[0].shape[1:]
    index = np.broadcast_to(flat.reshape(n, 1, -1), (n, c, int(np.prod(shape))))
    pixels = input.reshape(n, c, -1).gather(2, Tensor(np.ascontiguousarray(index))).reshape(n, c, *shape)
    return pixels * Tensor(inside.astype(input._array.dtype)).unsqueeze(1)


def _bicubic(input: Tensor, places: list[Tensor], sizes: tuple, padding: str, corners: bool) -> Tensor:
    low = [np.floor(p._array).astype(np.int64) for p in places]
    share = [p - Tensor(i.astype(p._array.dtype)) for p, i in zip(places, low)]
    weights = [[_cubic(s, k) for k in range(-1, 3)] for s in share]
    kind = input._array.dtype
    rows = []
    for i in range(-1, 3):
        cells = []
        for j in range(-1, 3):
            at = [_padded(Tensor((p + k).astype(kind)), n, padding, corners) for p, k, n in zip(low, (j, i), sizes)]
            cells.append(_read(input, [np.rint(t._array).astype(np.int64) for t in at], sizes))
        row = stack([c * w.unsqueeze(1) for c, w in zip(cells, weights[0])]).sum(0)
        rows.append(row * weights[1][i + 1].unsqueeze(1))
    return stack(rows).sum(0)


def _cubic(s: Tensor, k: int, a: float = -0.75) -> Tensor:
    """Keys' kernel for the pixel k away from the one below."""
    x = s - k if k <= 0 else k - s
    if k in (0, 1):
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

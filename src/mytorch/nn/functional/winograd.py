"""3x3 convolutions with fewer multiplications (Winograd's F(2x2, 3x3); Lavin and Gray 2015, 1509.09308).

A 2x2 tile of the output depends on a 4x4 tile of the image. Done directly that is 4 x 9 = 36 multiplications. In
another basis it is 16: transform the image's tile (only additions) and the kernel (once for all tiles), multiply the
two 4x4 grids number by number, and transform the product back (only additions again):

    tile of the output = A' [ (G kernel G') * (B' tile B) ] A

The sum over channels is taken between the two steps, so "multiply" is, for each of the 16 cells, one matrix product
(O, C) @ (C, tiles). It pays where those products are large beside the additions: with many channels.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mytorch.parallel import in_pieces

from .layout import Pair, Window

_CHANNELS = 100  # with fewer, the additions cost more than the multiplications saved
_BLOCK = 1 << 20  # numbers of transformed tiles that are made at a time: they stay in the cache
_G = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
_TURNED = (3, 1, 2, 0)  # a kernel turned by half a turn has the same cells, the first and the last of four exchanged


def pays(weight: np.ndarray, window: Window, groups: int, positions: Pair) -> bool:
    """Whether a convolution with this kernel, and an output of this size, is faster so."""
    plain = window.kernel == (3, 3) and window.stride == window.dilation == (1, 1) and groups == 1
    return plain and min(weight.shape[:2]) >= _CHANNELS and positions[0] % 2 == positions[1] % 2 == 0


def pays_for_weight(g: np.ndarray) -> bool:
    """The same for the kernel's gradient: with few tiles, the sums over them are too short."""
    o, h, w, n = g.shape
    return h * w * n >= 4 * o


def kernel(weight: np.ndarray) -> np.ndarray:
    """(O, C, 3, 3) -> cells (16, O, C): G kernel G', as one product with the nine numbers of all kernels."""
    o, c = weight.shape[:2]
    return _times(np.kron(_G, _G), weight.transpose(2, 3, 0, 1).reshape(9, o * c)).reshape(16, o, c)


def correlate(x: np.ndarray, cells: np.ndarray, turned: bool = False) -> np.ndarray:
    """x (C, H + 2, W + 2, N) with kernel(weight) -> (O, H, W, N)."""
    (c, h, w, n), o = x.shape, cells.shape[1]
    out = np.empty((o, h - 2, w - 2, n), x.dtype)
    order = _TURNED if turned else (0, 1, 2, 3)

    def some_rows(piece: slice) -> None:
        for rows in _blocks(piece, c * (w - 2) // 2 * n):
            made = np.matmul(cells, _tiles(x, rows, order)).reshape(4, 4, o, len(rows), (w - 2) // 2, n)
            _back(made, order, out[:, 2 * rows.start : 2 * rows.stop])

    in_pieces(some_rows, (h - 2) // 2, out.size * c * 9)
    return out


def correlate_input(g: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """The gradient for the input of an image that was padded by 1 on all sides: g (O, H, W, N) -> (C, H, W, N).

    It is a convolution too: of the padded gradient, with the kernel turned by half a turn.
    """
    around = np.zeros((g.shape[0], g.shape[1] + 2, g.shape[2] + 2, g.shape[3]), g.dtype)
    around[:, 1:-1, 1:-1] = g
    return correlate(around, cells.swapaxes(1, 2), turned=True)


def correlate_weight(g: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The gradient for the kernel, from g (O, H, W, N) and the image x (C, H + 2, W + 2, N): G' [sum over tiles] G."""
    (o, h, w, n), c = g.shape, x.shape[0]
    total = np.empty((16, c, o), g.dtype)

    def some_channels(piece: slice) -> None:
        for rows in _blocks(slice(0, h // 2), max(o, c) * w // 2 * n):
            tiles, spread = _tiles(x[piece], rows), _spread(g[:, 2 * rows.start : 2 * rows.stop]).swapaxes(1, 2)
            if rows.start == 0:
                np.matmul(tiles, spread, out=total[:, piece])
            else:
                total[:, piece] += np.matmul(tiles, spread)

    in_pieces(some_channels, c, g.size * c * 9)
    return _times(np.kron(_G, _G).T, total.reshape(16, c * o)).reshape(3, 3, c, o).transpose(3, 2, 0, 1)


def _times(both: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """A small matrix times one of few and very long rows: (9 or 16, 16 or 9) @ (., long)."""
    out = np.empty((len(both), cells.shape[1]), cells.dtype)
    both = both.astype(cells.dtype)
    in_pieces(lambda part: np.matmul(both, cells[:, part], out=out[:, part]), out.shape[1], out.size * len(cells))
    return out


def _blocks(rows: slice, size: int) -> Iterator[range]:
    """Rows of tiles, so many at a time that their 16 cells of `size` numbers per row fit the cache."""
    step = max(1, _BLOCK // max(16 * size, 1))
    for start in range(rows.start, rows.stop, step):
        yield range(start, min(start + step, rows.stop))


# Each transform is done along the width first and then along the height, or the other way round on the way back: of the
# two, steps along the height work on longer runs of memory, and there are more of them.


def _tiles(x: np.ndarray, rows: range, order: tuple[int, ...] = (0, 1, 2, 3)) -> np.ndarray:
    """B' tile B of some rows of 4x4 tiles, which begin at every second pixel: (16, C, tiles)."""
    c, _, width, n = x.shape
    count, across = len(rows), width // 2 - 1
    image = x[:, 2 * rows.start : 2 * rows.stop + 2]
    wide = np.empty((4, c, 2 * count + 2, across, n), x.dtype)
    _differences([image[:, :, j : j + 2 * across - 1 : 2] for j in range(4)], [wide[j] for j in order])
    tiles = np.empty((4, 4, c, count, across, n), x.dtype)
    for j, part in enumerate(wide):
        _differences([part[:, i : i + 2 * count - 1 : 2] for i in range(4)], [tiles[i, j] for i in order])
    return tiles.reshape(16, c, count * across * n)


def _differences(d: list[np.ndarray], out: list[np.ndarray]) -> None:
    """B' of four neighbours."""
    np.subtract(d[0], d[2], out=out[0])
    np.add(d[1], d[2], out=out[1])
    np.subtract(d[2], d[1], out=out[2])
    np.subtract(d[1], d[3], out=out[3])


def _back(made: np.ndarray, order: tuple[int, ...], out: np.ndarray) -> None:
    """A' made A: (4, 4, O, rows, columns, N) into (O, 2 rows, 2 columns, N)."""
    for i, half in enumerate(_pair([made[k] for k in order])):  # (4, O, rows, columns, N)
        for j, quarter in enumerate(_pair([half[k] for k in order])):
            out[:, i::2, j::2] = quarter


def _pair(m: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """A' of four."""
    first, second = m[0] + m[1], m[1] - m[2]
    first += m[2]
    second -= m[3]
    return first, second


def _spread(g: np.ndarray) -> np.ndarray:
    """A g A' of 2x2 tiles: (O, 2 rows, 2 columns, N) -> (16, O, tiles)."""
    o, height, width, n = g.shape
    wide = np.empty((4, o, height, width // 2, n), g.dtype)
    _sums(g[:, :, 0::2], g[:, :, 1::2], wide)
    cells = np.empty((4, 4, o, height // 2, width // 2, n), g.dtype)
    for j, part in enumerate(wide):
        _sums(part[:, 0::2], part[:, 1::2], cells[:, j])
    return cells.reshape(16, o, -1)


def _sums(first: np.ndarray, second: np.ndarray, out: np.ndarray) -> None:
    """A of two neighbours."""
    out[0] = first
    np.add(first, second, out=out[1])
    np.subtract(first, second, out=out[2])
    np.negative(second, out=out[3])

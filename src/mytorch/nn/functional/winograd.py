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

from mytorch.parallel import PASS, in_pieces, product

from .layout import Border, Pair, Window

_CHANNELS = 30  # with fewer, the additions cost more than the multiplications saved
_BLOCK = 1 << 17  # numbers in four cells of the tiles that are done at a time: they stay in the cache
_TILES = 256  # with fewer at a time, reading the kernels costs more than the cache saves
_G = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
_TURNED = (3, 1, 2, 0)  # a kernel turned by half a turn has the same cells, the first and the last of four exchanged


def pays(weight: np.ndarray, window: Window, groups: int, positions: Pair) -> bool:
    """Whether Winograd's method is faster for this kernel and an output of this size."""
    plain = window.kernel == (3, 3) and window.stride == window.dilation == (1, 1) and groups == 1
    return plain and min(weight.shape[:2]) >= _CHANNELS and positions[0] % 2 == positions[1] % 2 == 0


def pays_for_weight(g: np.ndarray) -> bool:
    """The same for the kernel's gradient: with few tiles, the sums over them are too short."""
    o, h, w, n = g.shape
    return h * w * n >= 4 * o


def kernel(weight: np.ndarray) -> np.ndarray:
    """(O, C, 3, 3) -> cells (16, O, C): G kernel G', as one product with the nine numbers of each kernel."""
    o, c = weight.shape[:2]
    cells = np.empty((16, o * c), weight.dtype)
    both, kernels = np.kron(_G, _G).astype(weight.dtype), weight.reshape(o * c, 9)

    def some(piece: slice) -> None:
        for start in range(piece.start, piece.stop, 4096):
            block = slice(start, min(start + 4096, piece.stop))
            np.matmul(both, np.ascontiguousarray(kernels[block].T), out=cells[:, block])

    in_pieces(some, o * c, PASS * cells.size)
    return cells.reshape(16, o, c)


def correlate(x: np.ndarray, cells: np.ndarray, border: Border, turned: bool = False) -> np.ndarray:
    """x (C, H, W, N), with zeros around it, and kernel(weight) -> (O, H + zeros - 2, W + zeros - 2, N)."""
    (c, h, w, n), o, (top, bottom, left, right) = x.shape, cells.shape[1], border
    height, width = top + h + bottom - 2, left + w + right - 2
    across = width // 2
    out = np.empty((o, height, width, n), x.dtype)
    order = _TURNED if turned else (0, 1, 2, 3)

    def some_rows(piece: slice) -> None:
        wide = None
        for rows in _blocks(piece, c, across * n):
            wide = _wide(x, rows, border, order, wide)
            # A' from the left, as the four rows of cells come: each is used up while it is in the cache.
            for i, k in enumerate(order):
                made = np.matmul(cells[4 * k : 4 * k + 4], _tiles(wide, i)).reshape(4, o, len(rows), across, n)
                if i == 0:
                    upper = made
                elif i == 1:
                    upper += made
                    lower = made
                elif i == 2:
                    upper += made
                    lower -= made
                else:
                    lower -= made
            # A from the right
            for half, pixels in ((upper, out[:, 2 * rows.start : 2 * rows.stop : 2]),
                                 (lower, out[:, 2 * rows.start + 1 : 2 * rows.stop : 2])):  # fmt: skip
                first, second, third, fourth = (half[k] for k in order)
                first += second
                np.add(first, third, out=pixels[:, :, 0::2])
                second -= third
                np.subtract(second, fourth, out=pixels[:, :, 1::2])

    in_pieces(some_rows, height // 2, out.size * c * 9)
    return out


def correlate_input(g: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """The gradient for the input of an image that was padded by 1 on all sides: g (O, H, W, N) -> (C, H, W, N).

    It is a convolution too, with the kernel turned by half a turn.
    """
    return correlate(g, cells.swapaxes(1, 2), (1, 1, 1, 1), turned=True)


def correlate_weight(g: np.ndarray, x: np.ndarray, border: Border) -> np.ndarray:
    """The gradient for the kernel, from that of the output, g, and the image: G' [sum over tiles] G."""
    (o, h, w, n), c = g.shape, x.shape[0]

    def some_rows(piece: slice) -> np.ndarray:
        total, wide = np.zeros((16, o, c), g.dtype), None
        for rows in _blocks(piece, max(o, c), w // 2 * n):
            wide = _wide(x, rows, border, before=wide)
            spread = _spread(g[:, 2 * rows.start : 2 * rows.stop])
            for i in range(4):
                total[4 * i : 4 * i + 4] += np.matmul(_rows_spread(spread, i), _tiles(wide, i).swapaxes(1, 2))
        return total

    first, *others = in_pieces(some_rows, h // 2, g.size * c * 9)
    for other in others:
        first += other
    signed = _G * np.array([[1], [1], [1], [-1]])  # see _spread
    return product(first.reshape(16, o * c).T, np.kron(signed, signed).astype(g.dtype)).reshape(o, c, 3, 3)


def _blocks(rows: slice, channels: int, size: int) -> Iterator[range]:
    """Some rows of tiles at a time, `size` tiles in each."""
    step = max(1, max(_BLOCK // (4 * channels), _TILES) // max(size, 1))
    for start in range(rows.start, rows.stop, step):
        yield range(start, min(start + step, rows.stop))


# Each transform is done along the width first and then along the height, or the other way round on the way back: of the
# two, steps along the height work on longer runs of memory, and there are more of them.


def _wide(
    x: np.ndarray,
    rows: range,
    border: Border,
    order: tuple[int, ...] = (0, 1, 2, 3),
    before: np.ndarray | None = None,
) -> np.ndarray:
    """tile B of some rows of 4x4 tiles, which begin at every second pixel: (4, C, 2 rows + 2, columns, N).

    Tiles overlap by two rows of pixels: the first two are the last two of the rows `before`.
    """
    done = 0 if before is None else 2
    columns = _even_and_odd(x, range(2 * rows.start + done, 2 * rows.stop + 2), border)
    _, c, height, across, n = columns.shape
    wide = np.empty((4, c, height + done, across - 1, n), x.dtype)
    if before is not None:
        wide[:, :, :2] = before[:, :, -2:]
    # B' of four neighbours d: d0 - d2, d1 + d2, d2 - d1, d1 - d3
    left, right, new = columns[:, :, :, :-1], columns[:, :, :, 1:], wide[:, :, done:]  # d0 and d1, d2 and d3
    np.subtract(left, right, out=new[0::3] if order[0] == 0 else new[3::-3])
    np.add(left[1], right[0], out=new[1])
    np.subtract(right[0], left[1], out=new[2])
    return wide


def _even_and_odd(x: np.ndarray, rows: range, border: Border) -> np.ndarray:
    """The even and the odd columns of x with zeros around it, in some rows of that: (2, C, rows, columns, N).

    Only these rows get their zeros, in a copy that stays in the cache: one of the whole image would not.
    """
    (c, h, w, n), (top, _, left, right) = x.shape, border
    out = np.empty((2, c, len(rows), (left + w + right) // 2, n), x.dtype)
    first, last = max(rows.start, top), max(min(rows.stop, top + h), rows.start, top)  # rows of the image itself
    out[:, :, : first - rows.start] = out[:, :, last - rows.start :] = 0
    for k in range(2):
        start = (left + k) % 2  # the first column of the image that is one of these, and where it comes to lie
        place = (left + start) // 2
        part = out[k, :, first - rows.start : last - rows.start]
        pixels = x[:, first - top : last - top, start::2]
        part[:, :, :place] = part[:, :, place + pixels.shape[2] :] = 0
        part[:, :, place : place + pixels.shape[2]] = pixels
    return out


def _tiles(wide: np.ndarray, i: int) -> np.ndarray:
    """Row i of the cells of B' tile B: (4, C, tiles)."""
    last = wide.shape[2] - 3
    d = [wide[:, :, k : k + last : 2] for k in range(4)]
    cells = d[0] - d[2] if i == 0 else d[1] + d[2] if i == 1 else d[2] - d[1] if i == 2 else d[1] - d[3]
    return cells.reshape(4, wide.shape[1], -1)


def _spread(g: np.ndarray) -> np.ndarray:
    """g A' of 2x2 tiles: (O, 2 rows, 2 columns, N) -> (4, O, 2 rows, columns, N).

    The last of the four is the second pixel with the opposite sign; _G is given that sign instead.
    """
    o, height, width, n = g.shape
    out = np.empty((4, o, height, width // 2, n), g.dtype)
    out[0], out[3] = g[:, :, 0::2], g[:, :, 1::2]
    np.add(out[0], out[3], out=out[1])
    np.subtract(out[0], out[3], out=out[2])
    return out


def _rows_spread(wide: np.ndarray, i: int) -> np.ndarray:
    """Row i of the cells of A g A': (4, O, tiles)."""
    first, second = wide[:, :, 0::2], wide[:, :, 1::2]
    cells = first if i == 0 else second if i == 3 else first + second if i == 1 else first - second
    return cells.reshape(4, wide.shape[1], -1)

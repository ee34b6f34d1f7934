"""Convolution and its transpose: for each output row a matrix product with the windows it sees.

Three array functions do all the work. conv2d runs forward by `correlate` and back by the other two; the
transposed convolution is the same three in other roles. Blocks of rows keep the unfolded copy in the cache.
With many channels, 3x3 kernels take the shorter way of winograd.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mytorch.autograd import needs, recomputed, record, spelled_out
from mytorch.ops.shape import cat
from mytorch.parallel import in_pieces, later, without_blas_threads
from mytorch.tensor import Tensor

from . import winograd
from .layout import Border, Pair, Window, batch_first, batch_last, padded, pair
from .pad import pad
from .rearrange import fold, unfold

__all__ = ["conv2d", "conv_transpose2d"]

NO_BORDER = (0, 0, 0, 0)
_BLOCK = 1 << 20  # numbers in an unfolded block
_NARROW = 100  # a row of fewer columns is too little for one product: the kernel would be read again for each row


def _blocks(rows: slice, row_size: int) -> Iterator[range]:
    """Split output rows so that a block's windows (row_size numbers per row) fit the cache."""
    step = max(1, _BLOCK // max(row_size, 1))
    for start in range(rows.start, rows.stop, step):
        yield range(start, min(start + step, rows.stop))


def _by_row(x: np.ndarray, rows: range, groups: int) -> np.ndarray:
    """Some rows of (C, H, W, N) as (groups, rows, C/groups, W*N), a view."""
    c, h, w, n = x.shape
    return x.reshape(groups, c // groups, h, w * n)[:, :, rows.start : rows.stop].transpose(0, 2, 1, 3)


def _cells(weight: np.ndarray, groups: int) -> np.ndarray:
    """(O, C/groups, kh, kw) -> (groups, 1, O/groups, kh*C/groups*kw): kernel cells in the order of _windows."""
    o = weight.shape[0]
    return weight.transpose(0, 2, 1, 3).reshape(groups, 1, o // groups, weight[0].size)


def _windows(x: np.ndarray, window: Window, rows: range, columns: int, groups: int) -> np.ndarray:
    """(C, H, W, N) -> (groups, rows, kh*C/groups*kw, columns*N): the pixels under each kernel cell, row by row.

    Only the width is unfolded. An output row sees kh rows of that one below the other in memory, and the next
    output row sees almost the same ones: its matrix is a view that begins further on.
    """
    (kh, kw), (sh, sw), (dh, dw) = window
    c, _, _, n = x.shape
    first, count = rows.start * sh, (len(rows) - 1) * sh + (kh - 1) * dh + 1
    wide = np.empty((groups, count, c // groups, kw, columns, n), x.dtype)
    image = x.reshape(groups, c // groups, *x.shape[1:])[:, :, first : first + count].transpose(0, 2, 1, 3, 4)
    for j in range(kw):
        wide[:, :, :, j] = image[:, :, :, j * dw : j * dw + (columns - 1) * sw + 1 : sw]
    group, row, _, cell, _, number = wide.strides
    shape = (groups, len(rows), kh, c // groups * kw, columns * n)
    patches = np.lib.stride_tricks.as_strided(wide, shape, (group, row * sh, row * dh, cell, number), writeable=False)
    return patches.reshape(groups, len(rows), kh * shape[3], columns * n)  # still a view, unless rows are dilated


def _side_by_side(patches: np.ndarray, kernel: Pair) -> np.ndarray:
    """(groups, rows, kh*C*kw, columns) -> (groups, C*kh*kw, rows*columns), a copy: cells in the order of a kernel."""
    (groups, rows, cells, columns), (kh, kw) = patches.shape, kernel
    parted = patches.reshape(groups, rows, kh, cells // (kh * kw), kw, columns)
    return parted.transpose(0, 3, 2, 4, 1, 5).reshape(groups, cells, rows * columns)


def correlate(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, window: Window, groups: int) -> np.ndarray:
    """x (C, H, W, N) with weight (O, C/groups, kh, kw) -> (O, Ho, Wo, N)."""
    (ho, wo), o, n = window.positions(*x.shape[1:3]), weight.shape[0], x.shape[3]
    out = np.empty((o, ho, wo, n), x.dtype)
    flat, narrow = out.reshape(groups, o // groups, ho * wo * n), wo * n < _NARROW
    cells = weight.reshape(groups, o // groups, weight[0].size) if narrow else _cells(weight, groups)

    def some_rows(piece: slice) -> None:
        for rows in _blocks(piece, weight[0, :, 0].size * groups * wo * n):
            patches = _windows(x, window, rows, wo, groups)
            if narrow:
                part = flat[:, :, rows.start * wo * n : rows.stop * wo * n]
                np.matmul(cells, _side_by_side(patches, window.kernel), out=part)
            else:
                np.matmul(cells, patches, out=_by_row(out, rows, groups))
            if bias is not None:
                out[:, rows.start : rows.stop] += bias[:, None, None, None]

    in_pieces(some_rows, ho, out.size * weight[0].size)
    return out


def correlate_input(
    g: np.ndarray, weight: np.ndarray, window: Window, groups: int, height: int, width: int, border: Border = NO_BORDER
) -> np.ndarray:
    """The gradient of correlate for its input: g (O, Ho, Wo, N) -> (C, height, width, N), or that without a border.

    With stride 1 it is a convolution too: of the gradient with zeros around it, with the kernel turned by half a turn.
    That saves adding up the products of all kernel cells, but multiplies the zeros: it must not have many.
    """
    o, ho, wo, n = g.shape
    c = weight.shape[1] * groups
    top, bottom, left, right = border
    down, across = (span - 1 for span in window.span())  # windows that a pixel at the edge is not the first cell of
    inner = (height - top - bottom) * (width - left - right)
    if window.stride == (1, 1) and down >= max(top, bottom) and across >= max(left, right) and 2 * inner <= 3 * ho * wo:
        turned = weight.reshape(groups, o // groups, -1, *window.kernel)[..., ::-1, ::-1].swapaxes(1, 2)
        around = padded(g, down - top, height - ho - bottom, across - left, width - wo - right)
        return correlate(around, turned.reshape(c, o // groups, *window.kernel), None, window, groups)
    out = np.zeros((c, height, width, n), g.dtype)
    cells = weight.reshape(groups, o // groups, -1, *window.kernel)
    flat = g.reshape(groups, o // groups, ho, wo * n)

    def some_channels(piece: slice) -> None:  # of each group
        part = out.reshape(groups, c // groups, height, width, n)[:, piece]
        matrix = cells[:, :, piece].reshape(groups, o // groups, -1).transpose(0, 2, 1)
        for rows in _blocks(slice(0, ho), matrix.shape[1] * groups * wo * n):
            columns = matrix @ flat[:, :, rows.start : rows.stop].reshape(groups, o // groups, len(rows) * wo * n)
            columns = columns.reshape(*part.shape[:2], *window.kernel, len(rows), wo, n)
            for i, j, down, across in window.taps(rows, wo):
                part[:, :, down, across] += columns[:, :, i, j]

    in_pieces(some_channels, weight.shape[1], g.size * weight[0].size)
    return out[:, top : height - bottom, left : width - right]


def correlate_weight(g: np.ndarray, x: np.ndarray, shape: tuple[int, ...], window: Window, groups: int) -> np.ndarray:
    """The gradient of correlate for its weight, from g (O, Ho, Wo, N) and the input x (C, H, W, N)."""
    o, ho, wo, n = g.shape
    _, c, kh, kw = shape
    flat, narrow = g.reshape(groups, o // groups, ho * wo * n), wo * n < _NARROW
    if ho * wo * n < o // groups and c * kh * kw * groups * ho * wo * n < 2 * _BLOCK:
        # A small image and many kernels: unfold it once, and let each thread sum for some kernels.
        columns = _side_by_side(_windows(x, window, range(ho), wo, groups), window.kernel)
        result = np.empty((groups, o // groups, c * kh * kw), g.dtype)

        def some_kernels(piece: slice) -> None:
            np.matmul(flat[:, piece], columns.transpose(0, 2, 1), out=result[:, piece])

        in_pieces(some_kernels, o // groups, g.size * c * kh * kw)
        return result.reshape(shape)

    def some_rows(piece: slice) -> np.ndarray:
        total = np.zeros((groups, o // groups, kh * c * kw), g.dtype)
        for rows in _blocks(piece, c * kw * groups * wo * n):
            patches = _windows(x, window, rows, wo, groups)
            if narrow:
                part = flat[:, :, rows.start * wo * n : rows.stop * wo * n]
                total += np.matmul(part, _side_by_side(patches, window.kernel).transpose(0, 2, 1))
            else:
                total += np.matmul(_by_row(g, rows, groups), patches.transpose(0, 1, 3, 2)).sum(1)
        return total

    first, *others = in_pieces(some_rows, ho, g.size * c * kh * kw)
    for other in others:
        first += other
    return first.reshape(shape) if narrow else first.reshape(o, kh, c, kw).transpose(0, 2, 1, 3)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Pair = 1,
    padding: int | Pair | str = 0,
    dilation: int | Pair = 1,
    groups: int = 1,
) -> Tensor:
    """input (N, C, H, W) or (C, H, W), weight (O, C/groups, kh, kw) -> (N, O, Ho, Wo)."""
    if input.ndim == 3:
        return conv2d(input.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(0)
    x, w = input._array, weight._array
    _check(x, w, groups, w.shape[1] * groups, "conv2d", bias)
    if w.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got "
            f"weight of size {list(w.shape)} instead"
        )
    window = _window(w, stride, dilation)
    top, bottom, left, right = _padding(padding, window)
    height, width = x.shape[2] + top + bottom, x.shape[3] + left + right
    if window.span()[0] > height or window.span()[1] > width:
        raise RuntimeError(
            f"Calculated padded input size per channel: ({height} x {width}). Kernel size: "
            f"({window.span()[0]} x {window.span()[1]}). Kernel size can't be greater than actual input size"
        )
    without_blas_threads()
    border, image = (top, bottom, left, right), batch_last(x)
    cells = winograd.kernel(w) if winograd.pays(w, window, groups, window.positions(height, width)) else None
    if cells is None:
        image = padded(image, *border)
        out = correlate(image, w, None if bias is None else bias._array, window, groups)
    else:
        out = winograd.correlate(image, cells, border)
        if bias is not None:
            out += bias._array[:, None, None, None]
    wants_x, wants_w, wants_b = needs(input), needs(weight), bias is not None and needs(bias)

    def conv2d_backward(grad: np.ndarray, *_: np.ndarray) -> tuple[np.ndarray | None, ...]:
        g = batch_last(grad)

        def for_input() -> np.ndarray:
            if cells is not None and border == (1, 1, 1, 1):
                return batch_first(winograd.correlate_input(g, cells))
            return batch_first(correlate_input(g, w, window, groups, height, width, border))

        def for_weight() -> np.ndarray:
            if cells is not None and winograd.pays_for_weight(g):
                return winograd.correlate_weight(g, image, border)
            whole = image if cells is None else padded(image, *border)
            return np.ascontiguousarray(correlate_weight(g, whole, w.shape, window, groups))

        # The layer before waits for the input's gradient, nobody for the weight's.
        cost = g.size * w[0].size if wants_x else 0
        gw = later(for_weight, cost) if wants_w else None
        gx = for_input() if wants_x else None
        return gx, gw, g.sum((1, 2, 3)) if wants_b else None

    parents = (input, weight) if bias is None else (input, weight, bias)

    def values() -> np.ndarray:
        return batch_first(image if cells is not None else image[:, top : height - bottom, left : width - right])

    def plainly(x: Tensor, weight: Tensor, *bias: Tensor) -> Tensor:
        x = pad(x, (left, right, top, bottom))
        parts = [
            w.reshape(w.shape[0], -1).matmul(unfold(part, window.kernel, window.dilation, 0, window.stride))
            for w, part in zip(weight.chunk(groups), x.chunk(groups, 1))
        ]
        out = (parts[0] if groups == 1 else cat(parts, 1)).reshape(len(x), -1, *window.positions(height, width))
        return out + bias[0].reshape(-1, 1, 1) if bias else out

    # Where there is no border, the image is the input itself, which must not be changed before backward.
    saved = (input if np.may_share_memory(image, x) else recomputed(input, values), *parents[1:])
    return record(batch_first(out), parents, conv2d_backward, saved, again=spelled_out(plainly))


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Pair = 1,
    padding: int | Pair = 0,
    output_padding: int | Pair = 0,
    groups: int = 1,
    dilation: int | Pair = 1,
) -> Tensor:
    """conv2d's input gradient: (N, C, H, W) or (C, H, W), weight (C, O/groups, kh, kw) -> (N, O, Ho, Wo)."""
    if input.ndim == 3:
        one = input.unsqueeze(0)
        return conv_transpose2d(one, weight, bias, stride, padding, output_padding, groups, dilation).squeeze(0)
    x, w = input._array, weight._array
    _check(x, w, groups, w.shape[0], "conv_transpose2d", bias)
    window = _window(w, stride, dilation)
    (ph, pw), (oh, ow), (sh, sw) = pair(padding), pair(output_padding), window.stride
    if oh >= max(sh, window.dilation[0]) or ow >= max(sw, window.dilation[1]):
        raise RuntimeError(
            f"output padding must be smaller than either stride or dilation, but got "
            f"output_padding_height: {oh} output_padding_width: {ow} stride_height: {sh} "
            f"stride_width: {sw} "
            f"dilation_height: {window.dilation[0]} dilation_width: {window.dilation[1]}"
        )
    # The image before the padding is cut off: every window of it is one input pixel.
    height = (x.shape[2] - 1) * sh + window.span()[0] + oh
    width = (x.shape[3] - 1) * sw + window.span()[1] + ow
    if height - 2 * ph <= 0 or width - 2 * pw <= 0:
        raise RuntimeError(
            f"Given input size per channel: ({x.shape[2]} x {x.shape[3]}). Calculated output size per "
            f"channel: ({height - 2 * ph} x {width - 2 * pw}). Output size is too small"
        )
    image = batch_last(x)
    out = correlate_input(image, w, window, groups, height, width, (ph, ph, pw, pw))
    if bias is not None:
        out += bias._array[:, None, None, None]
    wants_x, wants_w, wants_b = needs(input), needs(weight), bias is not None and needs(bias)

    def conv_transpose2d_backward(grad: np.ndarray, *_: np.ndarray) -> tuple[np.ndarray | None, ...]:
        g = padded(batch_last(grad), ph, ph, pw, pw)
        rows, columns = image.shape[1:3]
        gx = gw = gb = None
        if wants_x:
            gx = batch_first(correlate(g, w, None, window, groups)[:, :rows, :columns])
        if wants_w:
            gw = correlate_weight(image, g, w.shape, window, groups)
        if wants_b:
            gb = grad.sum((0, 2, 3))
        return gx, gw, gb

    parents = (input, weight) if bias is None else (input, weight, bias)

    def plainly(x: Tensor, weight: Tensor, *bias: Tensor) -> Tensor:
        x = x.reshape(*x.shape[:2], -1)
        parts = [
            w.reshape(w.shape[0], -1).t().matmul(part) for w, part in zip(weight.chunk(groups), x.chunk(groups, 1))
        ]
        inner = (height - oh, width - ow)  # where the windows end: output_padding comes after them
        images = [fold(part, inner, window.kernel, window.dilation, 0, window.stride) for part in parts]
        out = pad(images[0] if groups == 1 else cat(images, 1), (-pw, ow - pw, -ph, oh - ph))
        return out + bias[0].reshape(-1, 1, 1) if bias else out

    saved = (recomputed(input, lambda: batch_first(image)), *parents[1:])
    return record(batch_first(out), parents, conv_transpose2d_backward, saved, again=spelled_out(plainly))


def _window(w: np.ndarray, stride: Any, dilation: Any) -> Window:
    window = Window((w.shape[2], w.shape[3]), pair(stride), pair(dilation))
    if min(window.stride) <= 0:
        raise RuntimeError(f"non-positive stride is not supported, but got {window.stride}")
    if min(window.dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {window.dilation}")
    return window


def _check(x: np.ndarray, w: np.ndarray, groups: int, channels: int, name: str, bias: Tensor | None) -> None:
    if x.ndim != 4:
        raise RuntimeError(
            f"Expected 3D (unbatched) or 4D (batched) input to {name}, but got input of size: {list(x.shape)}"
        )
    if x.shape[1] != channels:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(w.shape)}, expected input{list(x.shape)} to have "
            f"{channels} channels, but got {x.shape[1]} channels instead"
        )
    if x.dtype != w.dtype:
        raise RuntimeError(f"Input type ({x.dtype}) and weight type ({w.dtype}) should be the same")
    if bias is not None and bias._array.dtype != x.dtype:
        raise RuntimeError(f"Input type ({x.dtype}) and bias type ({bias._array.dtype}) should be the same")


def _padding(padding: int | Pair | str, window: Window) -> tuple[int, int, int, int]:
    """-> top, bottom, left, right."""
    if padding == "valid":
        return 0, 0, 0, 0
    if padding == "same":
        if window.stride != (1, 1):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        h, w = window.span()[0] - 1, window.span()[1] - 1  # torch puts the odd pixel below and to the right
        return h // 2, h - h // 2, w // 2, w - w // 2
    if isinstance(padding, str):
        raise RuntimeError(f"Invalid padding string: {padding!r}, should be one of {{'valid', 'same'}}")
    ph, pw = pair(padding)
    if min(ph, pw) < 0:
        raise RuntimeError(f"negative padding is not supported, but got {(ph, pw)}")
    return ph, ph, pw, pw

"""Large work in pieces, one per thread: NumPy releases the interpreter lock while it computes.

OpenBLAS's own threads wait for each other many times within one product, and on a busy machine each wait costs a time
slice. Pieces of a convolution wait once, and their copying and adding runs on all threads too. So while pieces run,
each product in them uses one thread.

For products that take about a millisecond, OpenBLAS's threads are faster than ours, because they stay awake for some
30 ms to be ready for the next. But then they take the processor from pieces of a convolution. So from the first
convolution on, products are done in pieces too.
"""

from __future__ import annotations

import contextvars
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from .threads import get_num_threads, set_num_threads

WORTH = 1 << 24  # multiplications (in a matrix product) that are worth a second thread
PASS = 8  # reading and writing one number counts as this many of them
SMALL = 1 << 18  # OpenBLAS itself uses one thread for less
LARGE = 1 << 28  # from here on, pieces are faster than OpenBLAS's threads in any case
BLOCK = 1 << 18  # numbers of each array that elementwise work does at a time

_blas_threads = True


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="mytorch")


os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not live on in a forked process


def in_pieces(work: Callable[[slice], Any], count: int, cost: int) -> list[Any]:
    """[work(piece), ...] for even pieces of range(count), as many as there are threads, at the same time.

    Work that costs less than WORTH stays whole. Pieces must not write to the same memory.
    """
    threads = get_num_threads() if cost > SMALL else 1
    if threads == 1:
        return [work(slice(0, count))]
    parts = max(1, min(threads, count)) if cost >= WORTH else 1
    edges = [count * k // parts for k in range(parts + 1)]
    pieces = [slice(a, b) for a, b in pairwise(edges)]
    set_num_threads(1)
    try:
        # NumPy keeps its error settings in the context, which threads do not inherit by themselves.
        others = [_pool().submit(contextvars.copy_context().run, work, piece) for piece in pieces[1:]]
        return [work(pieces[0]), *(other.result() for other in others)]
    finally:
        set_num_threads(threads)


def side_by_side(first: Callable[[], Any], second: Callable[[], Any], cost: int) -> tuple[Any, Any]:
    """(first(), second()), two pieces of work of about that cost each: on two threads, one for each."""
    if cost < WORTH or get_num_threads() != 2:
        return first(), second()
    set_num_threads(1)
    try:
        other = _pool().submit(contextvars.copy_context().run, second)
        return first(), other.result()
    finally:
        set_num_threads(2)


def without_blas_threads() -> None:
    """From now on, products of all sizes are done in pieces."""
    global _blas_threads
    _blas_threads = False


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a @ b of two matrices: in pieces of a's rows, or on OpenBLAS's threads."""
    cost = a.size * b.shape[1]
    if _blas_threads and WORTH // 2 <= cost < LARGE:
        return a @ b
    out = np.empty((len(a), b.shape[1]), a.dtype)
    in_pieces(lambda piece: np.matmul(a[piece], b, out=out[piece]), len(a), cost)
    return out


def elementwise(work: Callable[..., Any], *arrays: np.ndarray) -> None:
    """work(*arrays) for arrays of one shape, of which it writes some, number by number.

    Large ones that lie alike in memory are handed to it as flat blocks, which stay in the cache between the steps of
    `work`, on all threads.
    """
    first = arrays[0]
    if first.size <= BLOCK or any(a.strides != first.strides or a.shape != first.shape for a in arrays):
        work(*arrays)
        return
    flat = [a.ravel("K") for a in arrays]  # a view, if there are no gaps
    if not all(np.may_share_memory(a, f) for a, f in zip(arrays, flat)):
        work(*arrays)
        return

    def some(piece: slice) -> None:
        for start in range(piece.start, piece.stop, BLOCK):
            block = slice(start, min(start + BLOCK, piece.stop))
            work(*(a[block] for a in flat))

    in_pieces(some, first.size, PASS * first.size)

"""Large work in pieces, one per thread: NumPy releases the interpreter lock while it computes.

OpenBLAS's own threads wait for each other many times within one product, and on a busy machine each wait costs a time
slice. Pieces of a convolution wait once, and their copying and adding runs on all threads too. So while pieces run,
each product in them uses one thread.

For products that take about a millisecond, OpenBLAS's threads are faster than ours, because they stay awake for some
30 ms to be ready for the next. But then they take the processor from pieces of a convolution. So from the first
convolution on, products are done in pieces too.

Halves are never quite equal, and between them one thread works alone. Half of a backward pass, the gradients of the
kernels, is not needed before its end: that is left for `later`, and other threads do it whenever they have nothing
more urgent.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from itertools import pairwise
from typing import Any
from weakref import WeakSet

import numpy as np

from .threads import get_num_threads, set_num_threads

WORTH = 1 << 24  # multiplications (in a matrix product) that are worth a second thread
PASS = 16  # reading and writing one number counts as this many of them
SMALL = 1 << 18  # OpenBLAS itself uses one thread for less
LARGE = 1 << 28  # from here on, pieces are faster than OpenBLAS's threads in any case
WORTH_AWAKE = 1 << 23  # worth a second thread, if OpenBLAS's threads do not keep the processor
UNFINISHED = 4  # at most so many things are left for later at a time
BLOCK = 1 << 18  # numbers of each array that elementwise work does at a time

_blas_threads = True


@cache
def _pool(helpers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=helpers, thread_name_prefix="mytorch")


os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not live on in a forked process


class _Team(threading.local):
    """A thread's helper threads. Helpers themselves, and threads that have not asked for helpers, have none."""

    def __init__(self) -> None:
        self.size = 0  # with the thread itself
        self.promised: WeakSet[Later] = WeakSet()


_team = _Team()


class Later:
    """Work that a helper does when it is free, or, if none was until the result is asked for, whoever asks."""

    def __init__(self, work: Callable[[], Any]):
        self._work: Callable[[], Any] | None = work
        # NumPy keeps its error settings in the context, which threads do not inherit by themselves.
        self._future = _pool(_team.size - 1).submit(contextvars.copy_context().run, self._do)

    def _do(self) -> Any:
        work, self._work = self._work, None  # what it needed is not kept together with the result
        return work() if work is not None else None

    def is_done(self) -> bool:
        return self._future.done()

    def result(self) -> Any:
        return self._do() if self._future.cancel() else self._future.result()


@contextmanager
def team() -> Iterator[None]:
    """In here, each matrix product uses one thread, and this thread has helpers for work in pieces and for later."""
    threads = get_num_threads()
    if threads == 1:  # this thread has its team already, is a helper, or shall be alone
        yield
        return
    _team.size = threads
    set_num_threads(1)
    try:
        yield
    finally:
        _team.size = 0
        set_num_threads(threads)


def backward_team() -> AbstractContextManager[None]:
    """A team for a whole backward pass, unless OpenBLAS's threads do the products."""
    return nullcontext() if _blas_threads else team()


def in_pieces(work: Callable[[slice], Any], count: int, cost: int) -> list[Any]:
    """[work(piece), ...] for even pieces of range(count), as many as there are threads, at the same time.

    Work that is not worth a second thread stays whole. Pieces must not write to the same memory.
    """
    threads = _team.size or get_num_threads() if cost > SMALL else 1
    if threads == 1:
        return [work(slice(0, count))]
    parts = max(1, min(threads, count)) if cost >= (WORTH if _blas_threads else WORTH_AWAKE) else 1
    edges = [count * k // parts for k in range(parts + 1)]
    pieces = [slice(a, b) for a, b in pairwise(edges)]
    with team():
        others = [Later(partial(work, piece)) for piece in pieces[1:]]
        return [work(pieces[0]), *(other.result() for other in others)]


def later(work: Callable[[], Any], cost: int) -> Any:
    """work(), or a Later for its result: for what nobody needs soon, so that no thread has to wait for another.

    What is not done yet keeps its inputs in memory, so there is never much of it.
    """
    if _team.size < 2 or cost < WORTH or sum(not each.is_done() for each in _team.promised) >= UNFINISHED:
        return work()
    promise = Later(work)
    _team.promised.add(promise)
    return promise


def without_blas_threads() -> None:
    """From now on, products of all sizes are computed in pieces."""
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

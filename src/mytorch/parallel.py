"""Large work in pieces, one per thread: NumPy lets go of the interpreter while it computes.

OpenBLAS's own threads wait for each other many times within one product, and on a busy machine each wait costs a time
slice. Pieces of a convolution wait once, and their copying and adding runs on all threads too. So while pieces run,
each product in them uses one thread.
"""

from __future__ import annotations

import contextvars
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

from .threads import get_num_threads, set_num_threads

WORTH = 1 << 24  # multiplications (or so) that are worth a second thread
SMALL = 1 << 18  # OpenBLAS itself uses one thread for less


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

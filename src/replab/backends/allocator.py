"""Keep freed memory in the process: every training step asks for the same large blocks again.

By default glibc returns a large freed block to the system, which zeroes its pages and maps them again at the next
step: about half of a step's time on a CPU. `mallopt` raises two thresholds, for the whole process: blocks up to
32 MiB come from the heap, and the heap is not trimmed. The process then keeps its peak memory until it ends.
REPLAB_KEEP_MEMORY=0 leaves malloc as it is; so does MYTORCH_KEEP_MEMORY=0, which mytorch reads for itself.
"""

from __future__ import annotations

import ctypes
import os
import sys

# From glibc's malloc.h.
M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
LARGEST_MMAP_THRESHOLD = 32 << 20  # glibc refuses more
NEVER_TRIM = (1 << 31) - 1  # mallopt takes an int


def keep_freed_memory() -> bool:
    """Whether glibc now keeps it; False where the user declined or where there is no glibc."""
    declined = "0" in (os.environ.get("REPLAB_KEEP_MEMORY"), os.environ.get("MYTORCH_KEEP_MEMORY"))
    if declined or not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None)
    if not (hasattr(libc, "gnu_get_libc_version") and hasattr(libc, "mallopt")):
        return False
    raised = libc.mallopt(M_MMAP_THRESHOLD, LARGEST_MMAP_THRESHOLD)
    return bool(raised and libc.mallopt(M_TRIM_THRESHOLD, NEVER_TRIM))

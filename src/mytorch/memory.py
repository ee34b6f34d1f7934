"""Keep freed memory in the process, because a training step asks for the same large arrays again and again.

By default glibc gives a large freed array back to the system, which zeroes its pages and faults them in
again at the next step: about half of a step's time. Importing mytorch raises two thresholds of glibc's malloc
with `mallopt`, for the WHOLE process (so also for other libraries in it): arrays up to 32 MiB come from the
heap, and the heap is not trimmed. The process then holds on to its peak. Set MYTORCH_KEEP_MEMORY=0 before the
import to leave malloc alone.
"""

from __future__ import annotations

import ctypes
import os
import sys

# Parameter numbers of mallopt(3) in glibc's malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_LARGEST_MMAP_THRESHOLD = 32 << 20  # glibc refuses more
_NEVER_TRIM = (1 << 31) - 1  # mallopt takes an int


def keep_memory() -> bool:
    """Ask glibc to keep freed memory; False if told not to or if this is not glibc."""
    if os.environ.get("MYTORCH_KEEP_MEMORY", "1") == "0" or not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None)
    if not (hasattr(libc, "gnu_get_libc_version") and hasattr(libc, "mallopt")):
        return False
    accepted = libc.mallopt(_M_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
    return bool(accepted and libc.mallopt(_M_TRIM_THRESHOLD, _NEVER_TRIM))


is_kept = keep_memory()

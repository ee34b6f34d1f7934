"""Freed memory is kept unless the user declines, under either name."""

import ctypes
import sys

import pytest

from replab.backends.allocator import keep_freed_memory


@pytest.mark.parametrize("name", ["REPLAB_KEEP_MEMORY", "MYTORCH_KEEP_MEMORY"])
def test_declined(monkeypatch, name):
    monkeypatch.setenv(name, "0")
    assert not keep_freed_memory()


def test_kept_where_there_is_glibc(monkeypatch):
    for name in ("REPLAB_KEEP_MEMORY", "MYTORCH_KEEP_MEMORY"):
        monkeypatch.delenv(name, raising=False)
    glibc = sys.platform.startswith("linux") and hasattr(ctypes.CDLL(None), "gnu_get_libc_version")
    assert keep_freed_memory() == glibc

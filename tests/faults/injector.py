"""Faults at the n-th operation on files: it fails, or the process is killed there.

Operations are the writes, reads, flushes (fsync, and msync of a mapped file) and renames of files below the watched
folders, counted as the system sees them: below Python's buffers. Processes that are forked later count on: the n-th
operation is that of all of them. A fault is ENOSPC, EIO or EINTR, or SIGKILL just before the operation.
"""

import builtins
import errno
import io
import multiprocessing
import os
import signal
from pathlib import Path

ERRORS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EINTR": errno.EINTR}
KINDS = ("write", "fsync", "rename", "read")
# what a fault can happen to: reading needs no space, and Python repeats what a signal interrupts but for renames
POSSIBLE = {
    "SIGKILL": KINDS,
    "ENOSPC": ("write", "fsync", "rename"),
    "EIO": KINDS,
    "EINTR": ("write", "read"),
}


class Injector:
    """Counts operations below `folders`; at number `at` (from 1) of those the fault can happen to, it happens.

    `lasting`: to all that follow too, as on a disk that stays full.
    """

    def __init__(self, folders, fault="", at=0, lasting=False):
        self.folders = [os.path.realpath(folder) for folder in folders]
        self.fault, self.at, self.lasting, self.hit = fault, at, lasting, ""
        self.counts = multiprocessing.get_context("fork").Array("q", len(KINDS))

    @property
    def by_kind(self):
        return dict(zip(KINDS, self.counts[:]))

    def watches(self, path):
        try:
            real = os.path.realpath(os.fspath(path))
        except TypeError:
            return False
        return any(real.startswith(folder + os.sep) or real == folder for folder in self.folders)

    def operation(self, kind, path):
        with self.counts.get_lock():
            self.counts[KINDS.index(kind)] += 1
            number = sum(self.by_kind[each] for each in POSSIBLE.get(self.fault, ()))
        if (
            not self.fault
            or kind not in POSSIBLE[self.fault]
            or not (number == self.at or (self.lasting and number > self.at))
        ):
            return
        self.hit = f"{kind} {Path(path).name}"
        if self.fault == "SIGKILL":
            os.kill(os.getpid(), signal.SIGKILL)
        raise OSError(ERRORS[self.fault], os.strerror(ERRORS[self.fault]), str(path))

    def install(self):
        import numpy as np

        injector, real_open, fsync, replace = self, builtins.open, os.fsync, os.replace
        flush = np.memmap.flush

        class Watched(io.FileIO):
            watched = ""

            def write(self, data):
                injector.operation("write", self.watched)
                return super().write(data)

            def readinto(self, buffer):
                injector.operation("read", self.watched)
                return super().readinto(buffer)

            def readall(self):
                injector.operation("read", self.watched)
                return super().readall()

        def opened(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
            path = os.readlink(f"/proc/self/fd/{file}") if isinstance(file, int) else file
            if not injector.watches(path) or buffering == 0:
                return real_open(file, mode, buffering, encoding, errors, newline, closefd, opener)
            raw = Watched(file, mode.replace("b", "").replace("t", ""), closefd, opener)
            raw.watched = os.fspath(path)
            both, out = "+" in mode, set(mode) & set("wax")
            kind = io.BufferedRandom if both else io.BufferedWriter if out else io.BufferedReader
            return kind(raw) if "b" in mode else io.TextIOWrapper(kind(raw), encoding, errors, newline)

        def flushed(handle):
            path = os.readlink(f"/proc/self/fd/{handle if isinstance(handle, int) else handle.fileno()}")
            if injector.watches(path):
                injector.operation("fsync", path)
            return fsync(handle)

        def renamed(source, target, **more):
            if injector.watches(target):
                injector.operation("rename", target)
            return replace(source, target, **more)

        def mapped(array):
            path = getattr(array, "filename", None)
            if path is not None and injector.watches(path):
                injector.operation("fsync", path)
            return flush(array)

        builtins.open = io.open = opened
        os.fsync, os.replace, np.memmap.flush = flushed, renamed, mapped
        return self

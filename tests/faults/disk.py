"""A power cut, at every point: what a disk may hold then, as the standard allows it.

Content is sure only as it was at the file's last flush (fsync, or msync of a mapped file); names (new files, renames,
removals) only as they were at their folder's last flush. Of what is not sure the disk may have all or nothing:

    nothing     what was flushed, and no more
    names       every rename and removal, with the content that was flushed: a file that never was is empty
    all         everything, as after a kill

A recording is made in a process of its own, and every state is told before each operation that changes it.
"""

import hashlib
import os
import shutil

WAYS = ("nothing", "names", "all")


class Recorder:
    """Watches folders and keeps each different state that a cut could leave, as copies below `states`.

    The name of a state has how many trials and epochs had been told by then: those must not be lost.
    """

    def __init__(self, folders, states, told, limit=10**9):
        self.folders = [os.path.realpath(folder) for folder in folders]
        self.base = os.path.dirname(self.folders[0])
        self.states, self.told, self.limit, self.process = states, told, limit, os.getpid()
        self.flushed = {}  # inode → content at its last flush
        self.names = {}  # path → inode, as its folder's last flush left it
        self.operations, self.cuts, self.seen = 0, 0, set()

    # -- what is there now ---------------------------------------------------------------------------------------------

    def current(self):
        """path → inode, of files and folders."""
        return {
            os.path.join(top, name): os.stat(os.path.join(top, name)).st_ino
            for folder in self.folders
            for top, below, files in os.walk(folder)
            for name in (*below, *files)
            if not name.startswith(".lock") and name != "lock"
        }

    def reachable(self, path, names):
        """Whether every folder around it has a name that is sure."""
        above = os.path.dirname(path)
        return above in self.folders or (above in names and self.reachable(above, names))

    def cut(self):
        """Keep what the disk may hold if the power failed now."""
        self.operations += 1
        now = self.current()
        for way in WAYS:
            names = self.names if way == "nothing" else now
            content = {}
            for path, inode in names.items():
                if os.path.isdir(path) or not self.reachable(path, names):
                    continue
                data = self.flushed.get(inode, b"")
                if way == "all":
                    with self.open(path, "rb") as file:
                        data = file.read()
                content[os.path.relpath(path, self.base)] = data
            self.cuts += 1
            told = self.told(), sorted((name, hashlib.sha256(data).digest()) for name, data in content.items())
            mark = hashlib.sha256(repr(told).encode())
            if mark.digest() in self.seen or len(self.seen) >= self.limit:
                continue
            self.seen.add(mark.digest())
            place = self.states / f"{len(self.seen):04d}-{self.told()}-{way}"
            for name, data in content.items():
                target = place / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with self.open(target, "wb") as file:
                    file.write(data)
            place.mkdir(parents=True, exist_ok=True)

    # -- what makes it sure --------------------------------------------------------------------------------------------

    def flush_file(self, path):
        with self.open(path, "rb") as file:
            self.flushed[os.stat(path).st_ino] = file.read()

    def flush_folder(self, folder):
        now, inside = self.current(), lambda path: os.path.dirname(path) == folder
        self.names = {p: i for p, i in self.names.items() if not inside(p)} | {
            p: i for p, i in now.items() if inside(p)
        }

    def install(self):
        import builtins

        import numpy as np

        self.open, fsync, replace, unlink = builtins.open, os.fsync, os.replace, os.unlink
        flush = np.memmap.flush

        def watched(path):
            """In this process: workers, forked from it, keep nothing."""
            return os.getpid() == self.process and any(
                os.path.realpath(path).startswith(folder) for folder in self.folders
            )

        def flushed(handle):
            path = os.readlink(f"/proc/self/fd/{handle if isinstance(handle, int) else handle.fileno()}")
            if watched(path):
                self.cut()
            fsync(handle)
            if watched(path):
                (self.flush_folder if os.path.isdir(path) else self.flush_file)(path)

        def renamed(source, target, **more):
            if watched(target):
                self.cut()
            replace(source, target, **more)

        def removed(path, **more):
            if watched(path):
                self.cut()
            unlink(path, **more)

        def mapped(array):
            flush(array)
            path = getattr(array, "filename", None)
            if path is not None and watched(path):
                self.cut()
                self.flush_file(os.path.realpath(path))

        os.fsync, os.replace, os.unlink, np.memmap.flush = flushed, renamed, removed, mapped
        return self


def record(name, place, states, report, limit=10**9):
    """In a process of its own: the whole run, every state that a cut could leave copied."""
    import json

    from scenarios import Progress, folders, run, settle

    settle(place, name)
    progress = Progress(place / "told")
    recorder = Recorder(folders(place), states, lambda: progress.count, limit).install()
    run(name, place, progress)
    recorder.cut()
    with recorder.open(report, "w") as file:
        json.dump({"operations": recorder.operations, "cuts": recorder.cuts, "states": len(recorder.seen)}, file)


def lay_out(state, place):
    """A state as the folder of a machine that is switched on again."""
    shutil.copytree(state, place, dirs_exist_ok=True)

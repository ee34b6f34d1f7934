"""The only place that renames, locks and names caches: one atomic write, one lock, one root for everything kept.

And one way to read a file that anybody may have put there: no pipe or device, and no more bytes than expected.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from replab.errors import FileError

TEMPORARY = ".tmp"  # how the name of a file that is still being written ends
WITHOUT_FLOCK = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL}  # some network disks
UNSYNCABLE = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EACCES, errno.EISDIR}  # folders, on such disks

WAY_OUT = {
    errno.ENOSPC: "free some space or name another folder",
    errno.EDQUOT: "free some space or name another folder",
    errno.EIO: "the disk reports a fault; check it, or name a folder on another one",
    errno.EROFS: "name a folder on a disk that can be written to",
    errno.EACCES: "name a folder that you may write to",
    errno.EPERM: "name a folder that you may write to",
}


# What a path may be besides a file or a folder: reading one may never end.
SPECIAL = {
    stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}  # fmt: skip


def read(path: str | Path, most: int) -> bytes:
    """The content of a regular file of at most so many bytes. Anything else is an OSError that says what it is.

    Opened without waiting, and looked at afterwards: a pipe cannot take the file's place in between.
    """
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb") as file:
        facts = os.fstat(file.fileno())
        if what := SPECIAL.get(stat.S_IFMT(facts.st_mode)):
            raise OSError(errno.EINVAL, f"it is {what}, not a file", str(path))
        if facts.st_size > most:
            raise OSError(errno.EFBIG, f"it has {facts.st_size:,} bytes, more than {most:,}", str(path))
        return file.read(most if not facts.st_size else facts.st_size + 1)  # so much is allocated before it is read


def append(path: Path, data: bytes, *, sync: bool = False) -> None:
    """At the end of a regular file of this folder: where a link or a pipe has its place, an OSError."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(os.open(path, flags | getattr(os, "O_BINARY", 0), 0o666), "ab") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a file", str(path))
        file.write(data)
        file.flush()
        if sync:
            os.fsync(file.fileno())


def version(facts: os.stat_result) -> tuple[int, int, int]:
    """Another when a file was written in between: (time, size, inode)."""
    return facts.st_mtime_ns, facts.st_size, facts.st_ino


def special(path: str | Path) -> str:
    """What a path that can be neither listed nor read is: `a pipe`, `a device`, `a socket`; else nothing."""
    try:
        kind = SPECIAL.get(stat.S_IFMT(os.stat(path).st_mode), "")
    except OSError:
        return ""
    return "" if kind == "a folder" else kind


def write_atomic(path: Path, data: bytes) -> None:
    """All of it or nothing, whenever the process is killed or the power fails."""
    with replacing(path) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: Path, announce: Callable[[str], None] = lambda digest: None) -> Iterator[IO[bytes]]:
    """A new file to write to. It takes the place of `path` if the block ends without an error, else it vanishes.

    It is flushed to disk before it is renamed, and its folder afterwards: else a power cut could leave an empty file,
    or undo the rename. `announce` is called with the content's SHA-256 between the two.
    """
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}{TEMPORARY}")
    try:
        with open(temporary, "x+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            announce(hashlib.file_digest(file, "sha256").hexdigest())
        rename(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, RuntimeError) and isinstance(error.__context__, KeyboardInterrupt):
            raise error.__context__ from None  # torch hides it behind an error about its archive
        if isinstance(error, (OSError, RuntimeError)) and (fault := _os_error(error)) is not None:
            raise FileError(f"cannot write {path}: {reason(fault, path.parent)}") from None
        raise


def rename(source: Path, target: Path) -> None:
    """In one step, even where something is at `target`; for good when this returns."""
    os.replace(source, target)
    sync_folder(target.parent)


def sync(path: Path) -> None:
    """Make what was appended to a file survive a power cut."""
    if os.name == "nt":  # Windows flushes no file that is open for reading alone
        return
    try:
        with open(path, "rb") as file:
            os.fsync(file.fileno())
    except OSError as error:
        if error.errno in UNSYNCABLE:
            return
        raise FileError(f"cannot write {path}: {reason(error, path.parent)}") from None


def sync_folder(folder: Path) -> None:
    """Make the renames and removals in a folder survive a power cut."""
    if os.name == "nt":  # Windows flushes no folders
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in UNSYNCABLE:
            raise
    finally:
        os.close(handle)


def reason(error: OSError, folder: Path) -> str:
    """What went wrong, and the way out where there is one."""
    if error.errno in (errno.ENOENT, errno.ESTALE) and not folder.is_dir():
        return f"the folder {folder} is not there, or no longer"
    way_out = WAY_OUT.get(error.errno or 0)
    return f"{error.strerror or error}" + (f"; {way_out}" if way_out else "")


def _os_error(error: BaseException | None) -> OSError | None:
    """The system's own error: torch hides it behind a RuntimeError about positions in its archive."""
    while error is not None and not isinstance(error, OSError):
        error = error.__cause__ or error.__context__
    return error


@contextlib.contextmanager
def lock(path: Path, busy: str = "", *, wait: bool = False) -> Iterator[None]:
    """Held by one process at a time. A second one is told `busy`, or waits.

    The system frees it when its process ends, however it ends. Where there is no flock, a file that names the process
    takes its place; one left by a dead process of this machine is removed.
    """
    from filelock import FileLock, SoftFileLock, Timeout

    marker = path.with_name(f"{path.name}.pid")
    timeout = -1 if wait else 0
    try:
        os.stat(path.parent)  # filelock would make a folder that was removed
        try:
            held = FileLock(path, timeout=timeout)
            with warnings.catch_warnings(action="ignore"):  # it warns of a missing flock; nothing is to be done
                held.acquire()
        except (NotImplementedError, OSError) as error:
            if isinstance(error, Timeout) or (isinstance(error, OSError) and error.errno not in WITHOUT_FLOCK):
                raise
            held = SoftFileLock(marker, timeout=timeout)
            held.acquire()
    except Timeout:
        on_marker = f" (if there is none, remove {marker})" if marker.exists() else ""
        raise FileError(f"{busy or f'{path} is held by another process'}{on_marker}") from None
    except OSError as error:
        raise FileError(f"cannot write {path}: {reason(error, path.parent)}") from None
    try:
        yield
    finally:
        held.release()


def cache_root() -> Path:
    """What can be made again is kept here: $REPLAB_CACHE, or the user's cache folder."""
    return _root("REPLAB_CACHE", "user_cache_path")


def data_root() -> Path:
    """Published data sets are looked for here: $REPLAB_DATA, or a folder in the user's cache folder."""
    return _root("REPLAB_DATA", "user_cache_path", "data")


def config_root() -> Path:
    """What this user decided is kept here: $REPLAB_CONFIG, or the user's configuration folder."""
    return _root("REPLAB_CONFIG", "user_config_path")


def _root(variable: str, place: str, below: str = "") -> Path:
    if os.environ.get(variable):
        return Path(os.environ[variable]).expanduser()
    import platformdirs

    return getattr(platformdirs, place)("replab") / below


def cache_entry(kind: str, name: str) -> Path:
    """Where `name` belongs in the cache: one folder per kind. What earlier versions left elsewhere is used."""
    place = cache_root() / kind / name
    earlier = (cache_root() / name, cache_root() / "decoded" / name)
    return place if place.exists() else next((path for path in earlier if path.exists()), place)

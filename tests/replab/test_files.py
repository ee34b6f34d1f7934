"""One atomic write, one lock, one root for everything kept."""

import errno
import fcntl
import multiprocessing
import os
import shutil
from pathlib import Path

import pytest
import torch

from replab import files
from replab.errors import FileError


def failing(number):
    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_failing_write_leaves_the_old_file(tmp_path, monkeypatch, broken):
    file = tmp_path / "rows.jsonl"
    files.write_atomic(file, b"old")
    with monkeypatch.context() as patch:
        patch.setattr(os, broken, failing(errno.ENOSPC))
        with pytest.raises(FileError, match=r"cannot write .*rows.jsonl: No space left on device; free some space"):
            files.write_atomic(file, b"new and longer")
    assert file.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["rows.jsonl"]
    files.write_atomic(file, b"new")
    assert file.read_bytes() == b"new"


def test_only_a_full_disk_is_told_to_free_space(tmp_path, monkeypatch):
    for number, says in ((errno.EIO, "the disk reports a fault"), (errno.EROFS, "a disk that can be written to")):
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", failing(number))
            with pytest.raises(FileError, match=says) as caught:
                files.write_atomic(tmp_path / "x", b"")
        assert "space" not in str(caught.value)
    with pytest.raises(FileError, match=r"cannot write .*x: the folder .*gone is not there, or no longer$"):
        files.write_atomic(tmp_path / "gone" / "x", b"")


def test_a_full_disk_behind_torch_is_named(tmp_path, monkeypatch):
    """torch says only that a position in its archive is unexpected."""
    real = open
    monkeypatch.setattr("builtins.open", lambda path, mode="r": real("/dev/full" if mode == "x+b" else path, "r+b"))
    with (
        pytest.raises(FileError, match=r"cannot write .*state.pt: No space left on device; free some space"),
        files.replacing(tmp_path / "state.pt") as file,
    ):
        torch.save({"a": torch.zeros(100_000)}, file)


def test_the_order_of_a_write(tmp_path, monkeypatch):
    """Content on disk, then its announcement, then the rename, then the folder on disk."""
    done = []
    real_fsync, real_replace = os.fsync, os.replace

    def fsync(handle):
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        done.append(f"fsync {'folder' if path.is_dir() else path.read_text()}")
        real_fsync(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("rename"), real_replace(a, b)))
    with files.replacing(tmp_path / "x", lambda digest: done.append(digest[:4])) as file:
        file.write(b"content")
    assert done == ["fsync content", "ed70", "rename", "fsync folder"]


def interrupted(path, error):
    with files.replacing(path) as file:
        file.write(b"half")
        raise error


def test_what_fails_in_between_leaves_nothing(tmp_path):
    for error in (ValueError, RuntimeError, KeyboardInterrupt):
        with pytest.raises(error):
            interrupted(tmp_path / "x", error)
    assert os.listdir(tmp_path) == []


def hold(path, ready, go):
    with files.lock(path):
        ready.set()
        go.wait()


@pytest.mark.parametrize("number", [None, errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_one_process_at_a_time_with_flock_and_without(tmp_path, monkeypatch, number):
    if number is not None:
        monkeypatch.setattr(fcntl, "flock", failing(number))
    context = multiprocessing.get_context("fork")
    ready, go = context.Event(), context.Event()
    other = context.Process(target=hold, args=(tmp_path / ".lock", ready, go))
    other.start()
    assert ready.wait(60)
    try:
        with pytest.raises(FileError, match="x is being written"), files.lock(tmp_path / ".lock", "x is being written"):
            pass
    finally:
        other.kill()  # without letting go: a dead process holds nothing
        other.join()
    with files.lock(tmp_path / ".lock"), files.lock(tmp_path / "another"):
        pass


def test_a_lock_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "file")  # from a stranger: it could point to any file of the user's
    for place in (tmp_path / "gone" / "lock", tmp_path / "file" / "lock", tmp_path / "link"):
        with pytest.raises(FileError, match="cannot write"), files.lock(place):
            pass
    assert sorted(os.listdir(tmp_path)) == ["file", "link"]


def test_the_roots(monkeypatch):
    for variable, root, name in (
        ("REPLAB_CACHE", files.cache_root, "replab"),
        ("REPLAB_DATA", files.data_root, "data"),
        ("REPLAB_CONFIG", files.config_root, "replab"),
    ):
        monkeypatch.delenv(variable)
        assert root().is_absolute()
        assert root().name == name
        monkeypatch.setenv(variable, "~/x")
        assert root() == Path.home() / "x"


def test_an_entry_of_an_earlier_version_is_used_where_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("REPLAB_CACHE", str(tmp_path))
    assert files.cache_entry("features", "a") == tmp_path / "features" / "a"
    for earlier in (tmp_path / "decoded" / "a", tmp_path / "a"):
        earlier.mkdir(parents=True)
        assert files.cache_entry("features", "a") == earlier
        shutil.rmtree(earlier)

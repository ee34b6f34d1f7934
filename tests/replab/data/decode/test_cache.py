"""The cache: decoded once, never stale, mended when damaged, and no need of it."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image

from replab import files
from replab.data.decode import cache, folder
from replab.data.load import load


@pytest.fixture
def images(tmp_path):
    """A folder of 2 classes of 4 images. BMP: all of the same length."""
    for i in range(8):
        path = tmp_path / "images" / "ab"[i % 2] / f"{i}.bmp"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (3, 3), i * 10).save(path)
    return tmp_path / "images"


@pytest.fixture
def decodings(monkeypatch):
    """How many files have been decoded."""
    counted = []
    decode = folder.decode

    def counting(data, **options):
        counted.append(1)
        return decode(data, **options)

    monkeypatch.setattr(folder, "decode", counting)
    return counted


def decoded_folder():
    return files.cache_root() / "decoded"


def entry():
    (found,) = decoded_folder().glob("set-*")
    return found


@pytest.mark.parametrize("just_now", [0.0, 100.0])
def test_the_second_load_decodes_nothing(images, decodings, monkeypatch, just_now):
    monkeypatch.setattr(cache, "JUST_NOW", just_now)
    time.sleep(0.02)
    first = load(str(images))
    assert len(decodings) == 8
    second = load(str(images))
    assert len(decodings) == 8
    assert np.array_equal(first.train.pixels, second.train.pixels)
    assert first.fingerprint == second.fingerprint
    assert (first.train.classes, first.train.mean) == (second.train.classes, second.train.mean)
    seen = list(decoded_folder().glob("seen-*"))
    assert len(seen) == (1 if just_now == 0 else 0)


def test_another_size_is_another_entry(images):
    assert load(str(images), size=5).spec.height == 5
    assert load(str(images)).spec.height == 3


@pytest.mark.parametrize("just_now", [0.0, 100.0])
def test_a_changed_image_is_never_stale(images, monkeypatch, just_now):
    """Same length, same time of change as far as anyone can set it: only the bytes differ."""
    monkeypatch.setattr(cache, "JUST_NOW", just_now)
    path = images / "a" / "0.bmp"
    before = load(str(images))
    stat, length = path.stat(), len(path.read_bytes())
    Image.new("L", (3, 3), 255).save(path)
    assert len(path.read_bytes()) == length
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    after = load(str(images))
    both = np.concatenate([after.train.pixels, after.test.pixels])
    assert 255 in both
    assert after.fingerprint != before.fingerprint


def test_a_renamed_class_is_seen(images):
    load(str(images))
    (images / "b").rename(images / "c")
    assert load(str(images)).train.classes == ("a", "c")


def test_a_copied_folder_has_the_same_fingerprint(images, tmp_path, decodings):
    import shutil

    first = load(str(images))
    shutil.copytree(images, tmp_path / "copy")
    assert load(str(tmp_path / "copy")).fingerprint == first.fingerprint
    assert len(decodings) == 8


@pytest.mark.parametrize("file", ["pixels.npy", "labels.npy", "moments.npy", "facts.json"])
@pytest.mark.parametrize("how", ["gone", "empty", "half", "flipped", "noise"])
def test_a_damaged_entry_is_built_anew(images, decodings, file, how):
    first = load(str(images))
    path = entry() / file
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    else:
        flipped = data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]
        path.write_bytes({"empty": b"", "half": data[: len(data) // 2], "flipped": flipped, "noise": b"\xff" * 99}[how])
    again = load(str(images))
    assert len(decodings) == 16
    assert np.array_equal(first.test.pixels, again.test.pixels)
    assert again.test.labels.tolist() == first.test.labels.tolist()
    load(str(images))
    assert len(decodings) == 16  # mended


def test_writing_to_the_pixels_does_not_reach_the_cache(images):
    load(str(images))
    found = load(str(images))
    found.train.pixels[:] = 99
    assert not (load(str(images)).train.pixels == 99).any()


def test_without_a_writable_cache(images, tmp_path, monkeypatch, decodings):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("REPLAB_CACHE", str(tmp_path / "file" / "below"))
    assert len(load(str(images)).train) == 6
    assert len(load(str(images)).train) == 6
    assert len(decodings) == 16


def test_a_full_disk_is_no_error(images, monkeypatch, decodings):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    assert len(load(str(images)).train) == 6
    assert list(decoded_folder().glob("set-*")) == []
    assert list(decoded_folder().glob("part-*")) == []


def test_two_processes_at_once(images):
    code = (
        "import sys; from replab.data.load import load; d = load(sys.argv[1]);"
        "print(d.fingerprint, d.train.pixels.sum())"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(images)], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    outputs = {process.communicate()[0] for process in running}
    assert [process.returncode for process in running] == [0, 0, 0]
    found = load(str(images))
    assert outputs == {f"{found.fingerprint} {found.train.pixels.sum()}\n"}
    assert list(decoded_folder().glob("part-*")) == []


def test_another_process_may_win_the_race(images):
    """The entry appears while this process decodes: it is used, and nothing is left behind."""
    key = "k"
    pixels = np.arange(12, dtype=np.uint8).reshape(3, 1, 2, 2)

    def make(allocate, nested=True):
        if nested:
            cache.decoded(key, lambda allocate: make(allocate, nested=False))
        array = allocate(pixels.shape)
        array[:] = pixels
        return cache.Decoded.of(array, None, (), None)

    assert np.array_equal(cache.decoded(key, make).pixels, pixels)
    assert [p.name for p in decoded_folder().iterdir()] == [f"set-{cache.FORMAT}-k"]


def test_what_killed_processes_left_is_swept(images):
    left = decoded_folder() / "part-old"
    left.mkdir(parents=True)
    os.utime(left, (1, 1))
    load(str(images))
    assert not left.exists()


def test_an_entry_of_an_earlier_version_is_used_where_it_is(images, decodings):
    """They stood in the cache's root."""
    load(str(images))
    entry().rename(files.cache_root() / entry().name)
    load(str(images))
    assert len(decodings) == 8
    assert list(decoded_folder().glob("set-*")) == []

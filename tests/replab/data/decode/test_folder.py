"""Folders and zips of images: the layouts, their splits, and every way they can be wrong."""

import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from replab.data.decode.layout import layout, natural
from replab.data.load import load
from replab.errors import DataError


def value_of(i):
    return (i * 37 + 11) % 256


def write(folder, names, mode="RGB", size=(4, 4)):
    """One image each, told apart by their pixel value."""
    for i, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new(mode, size, (value_of(i),) * 3 if mode == "RGB" else value_of(i)).save(path)


def numbered(*folders, n=5):
    return [f"{folder}/{i}.png" for folder in folders for i in range(n)]


def zipped(folder, path):
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder))
    return path


def refused(path, **options):
    with pytest.raises(DataError) as error:
        load(str(path), **options)
    text = str(error.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize("pack", [False, True])
@pytest.mark.parametrize("wrapper", ["", "set/"])
def test_its_own_split(tmp_path, pack, wrapper):
    data = tmp_path / "data"
    names = numbered("train/cat", "train/dog") + numbered("test/cat", "test/dog", n=2)
    write(data, [wrapper + n for n in names])
    found = load(str(zipped(data, tmp_path / "data.zip") if pack else data))
    assert found.name == "data"
    assert found.train.classes == ("cat", "dog")
    assert found.train.labels.tolist() == [0] * 5 + [1] * 5
    assert found.test.labels.tolist() == [0, 0, 1, 1]
    assert found.train.pixels[:, 0, 0, 0].tolist() == [value_of(i) for i in range(10)]
    assert found.test.pixels[:, 2, 3, 3].tolist() == [value_of(i) for i in range(10, 14)]


def test_class_folders_are_split_by_the_seed(tmp_path):
    write(tmp_path, numbered("a", "b", "c", n=10), mode="L")
    found = load(str(tmp_path), seed=1)
    assert found.spec.channels == 1
    assert np.bincount(found.test.labels).tolist() == [2, 2, 2]
    both = np.concatenate([found.train.pixels, found.test.pixels])[:, 0, 0, 0]
    assert sorted(both.tolist()) == sorted(value_of(i) for i in range(30))
    value = {value_of(i): i // 10 for i in range(30)}
    assert all(value[p] == y for p, y in zip(found.test.pixels[:, 0, 0, 0].tolist(), found.test.labels))
    other = load(str(tmp_path), seed=2)
    assert other.fingerprint != found.fingerprint
    assert not np.array_equal(other.test.pixels, found.test.pixels)
    assert load(str(tmp_path), seed=1).fingerprint == found.fingerprint


def test_mean_and_std_are_the_training_images(tmp_path):
    write(tmp_path, numbered("a", "b", n=10), mode="L")
    train = load(str(tmp_path)).train
    np.testing.assert_allclose(train.mean, (train.pixels / 255).mean())
    np.testing.assert_allclose(train.std, (train.pixels / 255).std())


@pytest.mark.parametrize("prefix", ["", "faces/"])
def test_images_alone_have_no_labels(tmp_path, prefix):
    write(tmp_path, [f"{prefix}{i:02}.png" for i in range(20)])
    found = load(str(tmp_path))
    assert (len(found.train), len(found.test)) == (18, 2)
    assert found.train.labels is None
    assert found.train.classes == ()
    assert found.spec.classes == 0


def test_images_alone_with_their_own_split(tmp_path):
    write(tmp_path, numbered("train", n=4) + numbered("test", n=3))
    found = load(str(tmp_path))
    assert (len(found.train), len(found.test), found.test.labels) == (4, 3, None)


def test_mixed_gray_and_colour_becomes_colour(tmp_path):
    write(tmp_path, numbered("a"), mode="L")
    write(tmp_path, numbered("b"), mode="RGB")
    write(tmp_path, numbered("c"), mode="L")
    found = load(str(tmp_path))
    assert found.spec.channels == 3
    pixels = np.concatenate([found.train.pixels, found.test.pixels])
    assert sorted(pixels[:, :, 0, 0].tolist()) == sorted([[value_of(i)] * 3 for i in range(5)] * 3)


def test_system_files_are_ignored(tmp_path):
    data = tmp_path / "data"
    write(data, numbered("a", "b"))
    expected = load(str(data))
    for junk in (".DS_Store", "a/Thumbs.db", "a/.hidden.png", "__MACOSX/a/._0.png", ".git/x/y.txt"):
        (data / junk).parent.mkdir(parents=True, exist_ok=True)
        (data / junk).write_bytes(b"junk")
    assert np.array_equal(load(str(data)).train.pixels, expected.train.pixels)
    found = load(str(zipped(data, tmp_path / "z.zip")))
    assert np.array_equal(found.train.pixels, expected.train.pixels)


def test_classes_sort_as_numbers(tmp_path):
    write(tmp_path, numbered("10", "9", "1", n=2))
    assert load(str(tmp_path)).train.classes == ("1", "9", "10")


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text("ab019", min_size=1, max_size=6), unique=True))
def test_natural_order_is_total_and_counts(names):
    ordered = sorted(names, key=natural)
    backwards = names[::-1]
    assert ordered == sorted(backwards, key=natural)
    numbers = [int(n) for n in ordered if n.isdecimal()]
    assert numbers == sorted(numbers)


@settings(max_examples=30, deadline=None)
@given(
    st.dictionaries(st.sampled_from("abcd"), st.integers(2, 6), min_size=2),
    st.sampled_from(["", "w/", "w/v/"]),
)
def test_layout_gives_every_file_its_folder(counts, wrapper):
    names = [f"{wrapper}{c}/{i}.png" for c, n in counts.items() for i in range(n)]
    found = layout(names, "x")
    assert sorted(found.files) == sorted(names)
    assert [found.classes[i] for i in found.labels] == [f[len(wrapper)] for f in found.files]


def test_mixed_sizes_need_a_size(tmp_path):
    write(tmp_path, numbered("a"), size=(8, 6))
    write(tmp_path, numbered("b", n=3), size=(5, 7))
    text = refused(tmp_path)
    assert "8x6 (5), 5x7 (3)" in text
    assert "--size 5" in text
    assert load(str(tmp_path), size=5).spec.height == 5


def test_mixed_sizes_beyond_the_sample(tmp_path):
    write(tmp_path, numbered("a", n=200), size=(2, 2))
    write(tmp_path, ["a/1.png"], size=(3, 2))  # files[1] is not among those looked at first
    write(tmp_path, numbered("b", n=2), size=(2, 2))
    assert "2x2 (201), 3x2 (1)" in refused(tmp_path)


def damage(path, how):
    data = path.read_bytes()
    path.write_bytes({"truncated": data[: len(data) // 2], "empty": b"", "not an image": b"some text"}[how])


@pytest.mark.parametrize("how", ["truncated", "empty", "not an image"])
@pytest.mark.parametrize("pack", [False, True])
def test_bad_files_are_named_and_counted(tmp_path, how, pack):
    data = tmp_path / "data"
    write(data, numbered("a", "b"), size=(40, 40))
    damage(data / "a/2.png", how)
    path = zipped(data, tmp_path / "x.zip") if pack else data
    text = refused(path)
    assert "a/2.png" in text
    assert how in text
    damage(data / "b/1.png", how)
    damage(data / "b/3.png", how)
    path = zipped(data, tmp_path / "y.zip") if pack else data
    assert "3 of 10 cannot be read: a/2.png (" in refused(path)
    assert "--skip-broken" in refused(path)


def test_an_error_names_ten_broken_files(tmp_path):
    write(tmp_path, numbered("a", "b", n=8))
    for name in numbered("a", "b", n=7):
        damage(tmp_path / name, "empty")
    text = refused(tmp_path)
    assert "14 of 16 cannot be read" in text
    assert text.count(".png") == 10


@pytest.mark.parametrize("pack", [False, True])
def test_broken_files_are_skipped_named_and_counted(tmp_path, pack):
    data = tmp_path / "data"
    write(data, numbered("train/a", "train/b") + numbered("test/a", "test/b", n=2))
    whole = load(str(data))
    for name in ("train/a/2.png", "test/b/0.png"):
        damage(data / name, "not an image")
    path = str(zipped(data, tmp_path / "x.zip") if pack else data)
    for _ in range(2):  # decoded, then from the cache
        found = load(path, skip_broken=True)
        assert found.skipped == ("train/a/2.png (not an image)", "test/b/0.png (not an image)")
        assert np.array_equal(found.train.pixels, np.delete(whole.train.pixels, 2, 0))
        assert found.train.labels.tolist() == [0] * 4 + [1] * 5
        assert np.array_equal(found.test.pixels, np.delete(whole.test.pixels, 2, 0))
        assert found.test.labels.tolist() == [0, 0, 1]
    assert "2 broken files skipped, train/a/2.png (not an image) first" in found.remarks()[-1]


def test_a_class_that_is_broken_throughout_is_refused(tmp_path):
    write(tmp_path, numbered("a", "b", n=3))
    for name in numbered("b", n=2):
        damage(tmp_path / name, "empty")
    assert "class 'b' must have at least 2 images, to train and to test, got 1" in refused(tmp_path, skip_broken=True)


@pytest.mark.parametrize("pack", [False, True])
def test_what_is_no_image_by_extension_is_ignored_with_one_notice(tmp_path, pack):
    data = tmp_path / "data"
    write(data, numbered("a", "b"))
    expected = load(str(data))
    for name in ("README.txt", "a/README.md", "a/labels.csv", "docs/more.txt"):
        (data / name).parent.mkdir(exist_ok=True)
        (data / name).write_text("hello")
    path = str(zipped(data, tmp_path / "x.zip") if pack else data)
    for _ in range(2):
        found = load(path)
        assert np.array_equal(found.train.pixels, expected.train.pixels)
        assert found.train.classes == ("a", "b")
        assert found.remarks() == ("data: 4 files ignored, no images by extension (.txt 2, .md 1, .csv 1)",)
    assert expected.remarks() == ()
    if not pack:
        assert found.fingerprint == expected.fingerprint


@pytest.mark.parametrize("fit", ["crop", "pad", "squish"])
def test_mixed_sizes_are_fitted_into_squares(tmp_path, fit):
    wide, high = np.zeros((8, 16, 3), np.uint8), np.zeros((16, 8, 3), np.uint8)
    wide[:, 8:], high[:8] = 255, 255
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for i, picture in enumerate((wide, wide, high, high)):
            Image.fromarray(picture).save(tmp_path / name / f"{i}.png")
    found = load(str(tmp_path), size=8, fit=fit)
    both = np.concatenate([found.train.pixels, found.test.pixels])
    assert both.shape == (8, 3, 8, 8)
    white = (both[:, 0] > 127).sum(axis=(1, 2))
    assert set(white.tolist()) == {"crop": {32}, "pad": {16}, "squish": {32}}[fit]
    by_row = (both[:, 0] > 127).any(axis=2).sum(axis=1)  # rows with white: the wide ones keep theirs in all, or half
    assert set(by_row.tolist()) == {"crop": {8, 4}, "pad": {4}, "squish": {8, 4}}[fit]
    assert "--fit pad or --fit squish" in refused(tmp_path)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([*numbered("a"), "b/1.png"], "class 'b' must have at least 2 images, to train and to test, got 1"),
        (["only.png"], "at least 2 images"),
        (numbered("train/a", "train/b", "test/a", "test/zebra"), "'zebra'"),
        (numbered("train/a", "train/b", "val/a"), "both train/ and test/"),
        (numbered("train/a", "train/b", "test/a", "val/a"), "val/a/0.png"),
        (numbered("train/a", "train/b", "test"), "both have class folders or both have none"),
        ([*numbered("a", "b"), "x.png"], "x.png is in none (1 of 11 files)"),
    ],
)
def test_layouts_that_cannot_be(tmp_path, names, said):
    write(tmp_path, names)
    assert said in refused(tmp_path)


def test_empty_folders(tmp_path):
    assert "no images" in refused(tmp_path)
    write(tmp_path, numbered("a", "b"))
    load(str(tmp_path))
    (tmp_path / "c").mkdir()
    assert "class 'c'" in refused(tmp_path)
    (tmp_path / "c").rmdir()
    write(tmp_path / "s", numbered("train/a", "train/b"))
    (tmp_path / "s/test").mkdir()
    assert "test/ has no images" in refused(tmp_path / "s")


@pytest.mark.parametrize("name", ["../evil.png", "/etc/evil.png", "a/../../evil.png", "..\\evil.png", "C:\\evil.png"])
def test_zips_that_reach_outside(tmp_path, name):
    path = tmp_path / "evil.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, b"x")
    assert "must stay inside" in refused(path)


def test_zip_bombs_and_damaged_zips(tmp_path, monkeypatch):
    data = tmp_path / "data"
    write(data, numbered("a", "b"), size=(30, 30))
    path = zipped(data, tmp_path / "x.zip")
    monkeypatch.setattr("replab.data.decode.folder.LARGEST_MEMBER", 20)
    assert "a/0.png unpacks to" in refused(path)
    monkeypatch.undo()
    raw = path.read_bytes()
    flipped = raw.index(b"IHDR") + 8
    path.write_bytes(raw[:flipped] + b"\xff\xff" + raw[flipped + 2 :])
    assert "a/0.png (damaged in the zip" in refused(path)
    (tmp_path / "text.zip").write_text("no zip")
    assert "neither a folder nor a zip" in refused(tmp_path / "text.zip")


def test_linked_folders_are_followed_once(tmp_path):
    write(tmp_path / "real", numbered("a", "b"))
    (tmp_path / "set").mkdir()
    for name in ("a", "b"):
        (tmp_path / "set" / name).symlink_to(tmp_path / "real" / name)
    (tmp_path / "real" / "a" / "circle").symlink_to(tmp_path / "real" / "a")
    assert len(load(str(tmp_path / "set")).train) == 8
    (tmp_path / "real/a/gone.png").symlink_to(tmp_path / "nowhere")
    assert "gone.png" in refused(tmp_path / "set")


def test_a_file_that_cannot_be_read(tmp_path, monkeypatch):
    write(tmp_path, numbered("a", "b"))

    opened = open

    def denied(path, *args, **options):
        if str(path).endswith(".png"):
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *args, **options)

    monkeypatch.setattr("builtins.open", denied)  # root may read everything, so permissions alone would not do
    assert "0.png cannot be read (Permission denied)" in refused(tmp_path)


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.sampled_from(["L", "RGB"]), st.booleans(), st.integers(0, 99))
def test_folders_round_trip_exactly(height, width, mode, pack, seed):
    pixels = np.random.default_rng(seed).integers(0, 256, (6, height, width, len(mode)), dtype=np.uint8)
    with tempfile.TemporaryDirectory() as top:
        for i, image in enumerate(pixels):
            path = Path(top, "set", ("train", "test")[i % 2], "only", f"{i}.png")
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image.squeeze(-1) if mode == "L" else image).save(path)
        found = load(str(zipped(Path(top, "set"), Path(top, "set.zip"))) if pack else f"{top}/set")
    expected = pixels.transpose(0, 3, 1, 2)
    assert np.array_equal(found.train.pixels, expected[::2])
    assert np.array_equal(found.test.pixels, expected[1::2])


def test_threads_give_the_same_images(tmp_path, monkeypatch):
    write(tmp_path, numbered("a", "b", n=20))
    alone = load(str(tmp_path))
    monkeypatch.setattr("replab.data.decode.folder.WORTH_THREADS", 0)
    monkeypatch.setenv("REPLAB_CACHE", str(tmp_path / ".other"))
    assert np.array_equal(load(str(tmp_path)).train.pixels, alone.train.pixels)

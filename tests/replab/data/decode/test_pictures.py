"""One picture: every mode comes out as the numbers that went in."""

import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from replab.data.decode import pictures
from replab.data.decode.pictures import Unreadable, decode, header, resized


def png(picture, **options):
    buffer = io.BytesIO()
    picture.save(buffer, options.pop("format", "PNG"), **options)
    return buffer.getvalue()


def random_array(seed, *shape, high=256, dtype=np.uint8):
    return np.random.default_rng(seed).integers(0, high, shape, dtype=dtype)


sides = st.integers(1, 20)


@settings(max_examples=25, deadline=None)
@given(sides, sides, st.sampled_from(["1", "L", "RGB", "RGBA", "LA", "P", "I;16"]), st.integers(0, 999))
def test_pngs_round_trip_exactly(height, width, mode, seed):
    if mode == "I;16":
        values = random_array(seed, height, width, high=65536, dtype=np.uint16)
        picture, expected = Image.fromarray(values), np.round(values / 257).astype(np.uint8)[None]
    elif mode == "P":
        picture = Image.fromarray(random_array(seed, height, width))
        picture.putpalette(random_array(seed + 1, 768).tolist())  # makes it a P image
        expected = np.asarray(picture.convert("RGB")).transpose(2, 0, 1)
    elif mode == "1":
        picture = Image.fromarray(random_array(seed, height, width) > 127)
        expected = np.asarray(picture.convert("L"))[None]
    else:
        channels = len(mode)
        values = random_array(seed, height, width, channels)
        if mode in ("RGBA", "LA"):
            values[..., -1] = 255
        picture = Image.fromarray(values[..., 0] if mode == "L" else values, mode)
        expected = values[..., : 3 if "RGB" in mode else 1].transpose(2, 0, 1)
    data = png(picture)
    assert header(data) == (width, height)
    assert np.array_equal(decode(data), expected)


def test_transparency_is_composited_on_white():
    for mode, pixel, expected in [
        ("RGBA", (10, 20, 30, 0), [255, 255, 255]),
        ("RGBA", (10, 20, 30, 255), [10, 20, 30]),
        ("RGBA", (0, 0, 0, 51), [204, 204, 204]),
        ("LA", (7, 0), [255]),
    ]:
        got = decode(png(Image.new(mode, (1, 1), pixel)))[:, 0, 0]
        assert got.tolist() == expected


def test_a_transparent_palette_colour_becomes_white():
    picture = Image.new("P", (2, 1))
    picture.putpalette([200, 0, 0, 0, 0, 200])
    picture.putpixel((1, 0), 1)
    assert decode(png(picture, transparency=0)).transpose(1, 2, 0).tolist() == [[[255] * 3, [0, 0, 200]]]


def test_a_gray_palette_is_gray():
    picture = Image.fromarray(np.arange(4, dtype=np.uint8)[None])
    picture.putpalette([v for g in (0, 50, 100, 250) for v in (g, g, g)])
    assert decode(png(picture)).tolist() == [[[0, 50, 100, 250]]]


def test_sixteen_bits_are_scaled_not_clipped():
    values = np.array([[0, 128, 257, 32768, 65535]], np.uint16)
    for form in ("PNG", "TIFF"):
        assert decode(png(Image.fromarray(values), format=form)).tolist() == [[[0, 0, 1, 128, 255]]]


def test_channels_may_be_told():
    gray, red = png(Image.new("L", (2, 2), 9)), png(Image.new("RGB", (2, 2), (255, 0, 0)))
    assert decode(gray, 3).tolist() == [[[9, 9], [9, 9]]] * 3
    assert decode(red, 1).tolist() == [[[76, 76], [76, 76]]]  # its luma
    deep = png(Image.fromarray(np.full((1, 1), 65535, np.uint16)))
    assert decode(deep, 3).tolist() == [[[255]]] * 3


def test_cmyk_and_exif_orientation():
    data = png(Image.new("CMYK", (4, 2), (0, 255, 255, 0)), format="JPEG", quality=95)
    red = decode(data)[:, 0, 0].astype(int)
    assert red[0] > 200
    assert red[1:].max() < 60
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees
    turned = png(Image.new("RGB", (4, 2)), exif=exif.tobytes())
    assert header(turned) == (2, 4)
    assert decode(turned).shape == (3, 4, 2)


def test_size_resizes_the_short_side_and_crops_the_centre():
    values = np.zeros((10, 30, 3), np.uint8)
    values[:, 10:20] = 255  # the centre square is white
    assert np.array_equal(decode(png(Image.fromarray(values)), size=10), np.full((3, 10, 10), 255))
    smaller = decode(png(Image.fromarray(values)), size=5)
    assert smaller.shape == (3, 5, 5)
    assert smaller[:, :, 1:4].min() == 255
    assert decode(png(Image.new("L", (3, 7))), size=50).shape == (1, 50, 50)


def test_shrinking_averages_and_arrays_resize_alike():
    board = (np.indices((32, 32)).sum(0) % 2 * 255).astype(np.uint8)  # a chessboard of single pixels
    small = decode(png(Image.fromarray(board)), size=8)
    assert np.abs(small[:, 1:-1, 1:-1].astype(int) - 128).max() < 20  # without antialiasing: 0s or 255s
    colour = random_array(0, 9, 13, 3)
    assert np.array_equal(resized(colour.transpose(2, 0, 1)[None], 6)[0], decode(png(Image.fromarray(colour)), size=6))


def test_unreadable_files_say_why():
    whole = png(Image.fromarray(random_array(0, 40, 40, 3)))
    jpeg = png(Image.fromarray(random_array(0, 40, 40, 3)), format="JPEG")
    for data, why in [
        (b"", "empty"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not an image"),
        (b"hello", "not an image"),
        (whole[: len(whole) // 2], "truncated"),
        (jpeg[: len(jpeg) // 2], "truncated"),
        (png(Image.fromarray(np.ones((2, 2), np.float32)), format="TIFF"), "32-bit"),
        (png(Image.fromarray(np.ones((2, 2), np.int32)), format="TIFF"), "32-bit"),
    ]:
        with pytest.raises(Unreadable, match=why) as error:
            decode(data)
        assert "\n" not in str(error.value)


def test_decompression_bombs_are_refused(monkeypatch):
    monkeypatch.setattr(pictures, "MOST_PIXELS", 99)
    with pytest.raises(Unreadable, match="10x10 pixels, more than 99"):
        decode(png(Image.new("1", (10, 10))))
    monkeypatch.undo()
    small = png(Image.new("1", (1, 1)))
    for side in (9_000, 20_000):  # beyond our limit, and beyond where PIL itself gives up
        fields = b"IHDR" + struct.pack(">II", side, side) + small[24:29]
        with pytest.raises(Unreadable, match="more than 64,000,000"):
            decode(small[:12] + fields + struct.pack(">I", zlib.crc32(fields)) + small[33:])

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from replab.figures import style
from replab.figures.curves import draw_curves
from replab.figures.labels import spread

ROWS = [{"epoch": e, "train_loss": 1 / e, "test_loss": 1.1 / e, "test_accuracy": 1 - 1 / e} for e in range(1, 4)]


def test_save_writes_a_picture_and_leaves_nothing_else(tmp_path):
    path = style.save(draw_curves(ROWS), tmp_path / "figures" / "curves.png")
    with Image.open(path) as image:
        assert image.size == (1248, 442)
        assert len(image.convert("L").getcolors()) > 10
    assert os.listdir(path.parent) == ["curves.png"]
    assert path.stat().st_mode & 0o044 == 0o044


def test_a_failed_save_keeps_the_old_picture(tmp_path):
    path = tmp_path / "curves.png"
    path.write_bytes(b"old")

    class Broken:
        def savefig(self, *_, **__):
            raise RuntimeError("no room")

    with pytest.raises(RuntimeError):
        style.save(Broken(), path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["curves.png"]


def test_the_same_values_give_the_same_bytes_also_in_threads(tmp_path):
    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(lambda i: style.save(draw_curves(ROWS, "same"), tmp_path / f"{i}.png"), range(4)))
    assert len({path.read_bytes() for path in paths}) == 1


def test_no_pyplot_and_no_display_needed():
    names = "calibration comparison confusion curves gallery labels lr_find search structure style"
    code = f"import importlib, sys\nfor n in '{names}'.split(): importlib.import_module('replab.figures.' + n)\n"
    code += "assert 'matplotlib.pyplot' not in sys.modules and 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1e-3, "1e-3"),
        (1.234e-5, "1.23e-5"),
        (0.0312, "0.0312"),
        (12345, "12,345"),
        (2.5e7, "2.5e7"),
    ],
)
def test_numbers_read_short(value, text):
    assert style.number(value) == text


def test_ceiling_only_where_values_explode():
    assert style.ceiling([0.3, 0.4, 0.5, 2.3], 0.5, 10) is None
    assert style.ceiling([0.3, 0.31, 250.0], 0.5, 10) == 0.31
    assert style.ceiling([0.3, 250.0], 0.5, 10) is None
    assert style.ceiling([], 0.5, 10) is None


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1), max_size=12))
def test_spread_keeps_order_distance_and_bounds(positions):
    placed = spread(positions, 0.05)
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    gaps = [placed[b] - placed[a] for a, b in pairwise(order)]
    assert all(gap >= 0.05 - 1e-9 for gap in gaps)
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in placed)


def test_spread_leaves_distant_labels_alone():
    assert spread([0.9, 0.1, 0.5], 0.05) == pytest.approx([0.9, 0.1, 0.5])

"""Dark pictures: the same drawing, nothing left white, nothing that was hidden shown, text told from the page."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.text import Text

from replab.figures import style, theme
from replab.figures.confusion import draw_confusion
from replab.figures.curves import draw_curves
from replab.figures.gallery import grid
from replab.figures.published import draw_published
from replab.figures.structure import draw_structure

ROWS = [{"epoch": e, "train_loss": 1 / e, "test_loss": 1.2 / e, "test_accuracy": 1 - 0.3 / e} for e in (1, 2, 3)]
PAIRS = [
    {"id": "a/b", "data": "mnist", "published": 98.0, "measured": 98.1, "spread": 0.1, "n": 3, "margin": 0.2,
     "verdict": "holds"},
    {"id": "a/c", "data": "mnist", "published": 90.0, "measured": 95.0, "spread": None, "n": 1, "margin": 0.2,
     "verdict": "indication"},
]  # fmt: skip
LAYERS = [
    {"name": "body", "kind": "Linear", "description": "4→4", "shape": [4], "parameters": 20, "macs": 16, "leaf": True},
    {"name": "mean", "kind": "Linear", "description": "4→2", "shape": [2], "parameters": 10, "macs": 8, "leaf": True},
    {"name": "logvar", "kind": "Linear", "description": "4→2", "shape": [2], "parameters": 10, "macs": 8, "leaf": True,
     "beside": "mean"},
]  # fmt: skip
FIGURES = {
    "curves": lambda: draw_curves(ROWS),
    "confusion": lambda: draw_confusion(np.array([[5, 1], [0, 4]]), ("cat", "dog")),
    "gallery": lambda: grid(np.zeros((4, 1, 8, 8), np.uint8), list("abcd")),
    "published": lambda: draw_published(PAIRS, "a note"),
    "structure": lambda: draw_structure(LAYERS, "vae", (4,)),
    "message": lambda: style.message("nothing to draw"),
}


def brightness(colour):
    red, green, blue, _ = to_rgba(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("name", FIGURES)
def test_text_stands_out_on_either_page(name, tmp_path):
    for which in theme.THEMES:
        figure = FIGURES[name]()
        path = style.save(figure, tmp_path / f"{which}.png", theme=which)
        assert path.stat().st_size > 2000
        page = brightness(figure.get_facecolor())
        assert (page < 0.1) == (which == "dark")
        outside = [t for t in figure.findobj(Text) if t.get_text() and t.axes is None]
        assert all(abs(brightness(text.get_color()) - page) > 0.3 for text in outside)


def test_the_environment_says_which_page_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("REPLAB_THEME", "dark")
    for which, dark in (("", True), ("light", False)):
        figure = FIGURES["message"]()
        style.save(figure, tmp_path / "one.png", theme=which)
        assert (brightness(figure.get_facecolor()) < 0.1) == dark


def test_a_colour_of_the_palette_keeps_its_hue_and_nothing_stays_nothing():
    assert theme.exchanged("none") == "none"
    assert theme.exchanged((0, 0, 0, 0)) == "none"
    assert theme.exchanged(style.ORANGE) == to_rgba(style.ORANGE)
    assert brightness(theme.exchanged(style.BLUE)) > brightness(style.BLUE)
    assert theme.exchanged(to_rgba(style.INK, 0.5))[3] == 0.5


def test_layers_on_the_same_tensors_stand_side_by_side():
    words = {text.get_text(): text for text in FIGURES["structure"]().findobj(Text)}
    one, two = (next(t for t in words if t.startswith(name)) for name in ("mean", "logvar"))
    assert words[one].get_position()[1] == words[two].get_position()[1]
    assert words[one].get_position()[0] < words[two].get_position()[0]
    assert not any("×2" in word for word in words)


def test_a_long_line_is_written_smaller_before_it_is_cut():
    layers = [{**LAYERS[0], "kind": "ConvTranspose2d", "description": "4×4, 256→128, stride 2×2"}]
    layers += [
        {**LAYERS[0], "name": "b", "kind": kind, "parameters": 0, "description": ""} for kind in ("BatchNorm2d", "ReLU")
    ]
    words = [text.get_text() for text in draw_structure(layers, "x", (4,)).findobj(Text)]
    assert "ConvTranspose2d 4×4, 256→128, stride 2×2 · BatchNorm2d · ReLU" in words

"""Looking at a picture from a test: is something drawn, what is written, does any text lie on another."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text


def written(figure) -> list[str]:
    """Every visible text of the figure, as the reader sees it."""
    texts = figure.findobj(lambda artist: isinstance(artist, Text) and artist.get_visible())
    return [text.get_text().replace(r"\$", "$") for text in texts if text.get_text().strip()]


@pytest.fixture
def look():
    """Render small, fail on a blank picture, and give back all that is written in it as one string."""

    def look(figure) -> str:
        figure.set_dpi(50)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())[..., :3]
        assert pixels.std() > 3, "the picture is blank"
        return "\n".join(written(figure))

    return look


@pytest.fixture
def assert_no_overlap():
    """No two of these texts share more than a hair of area. The figure was looked at before."""

    def check(texts) -> None:
        boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text()]
        for (one, a), (other, b) in combinations(boxes, 2):
            across = min(a.x1, b.x1) - max(a.x0, b.x0)
            up = min(a.y1, b.y1) - max(a.y0, b.y0)
            assert across <= 1 or up <= 0.25 * min(a.height, b.height), f"{one!r} lies on {other!r}"

    return check

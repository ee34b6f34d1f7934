"""Light and dark pictures from one drawing: figures are drawn on white, and `darken` exchanges the colours.

One palette: each colour keeps its hue, and those that would sink into a dark page are lightened.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.collections import Collection
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

THEMES = ("light", "dark")
PAGE = "#0D1117"  # as dark pages have it: near black, so that white glares less
IN_THE_DARK = {
    "white": PAGE, "black": "#F0F3F6", "#222222": "#E6EDF3", "#6B6B6B": "#9DA7B1", "#DDDDDD": "#30363D",
    "#0072B2": "#4AA8E8", "#009E73": "#2FC79A", "#D55E00": "#F0803C", "#7A4A1E": "#C08A57", "#5A3E9B": "#A58BE8",
    "#9A9A9A": "#8B949E", "#A36A00": "#E69F00", "#A8497F": "#DD92BB", "#1F7FBF": "#56B4E9", "#7A7000": "#C9B800",
    "#00805D": "#2FC79A",
}  # fmt: skip
SHADES = LinearSegmentedColormap.from_list("page to blue", [PAGE, "#10405F", "#2F8FCF", "#A8DBFF"])
_EXCHANGED = {to_rgba(light)[:3]: to_rgba(dark)[:3] for light, dark in IN_THE_DARK.items()}


def darken(figure: Figure) -> Figure:
    """The same figure on a dark page. It is changed in place; once is enough."""
    for artist in figure.findobj():
        if isinstance(artist, Text):
            artist.set_color(exchanged(artist.get_color()))
            if (arrow := getattr(artist, "arrow_patch", None)) is not None:  # of an annotation; findobj passes it by
                arrow.set_color(exchanged(arrow.get_edgecolor()))
        elif isinstance(artist, Line2D):
            artist.set_color(exchanged(artist.get_color()))
            artist.set_markerfacecolor(exchanged(artist.get_markerfacecolor()))
            artist.set_markeredgecolor(exchanged(artist.get_markeredgecolor()))
        elif isinstance(artist, Patch):
            face, edge = artist.get_facecolor(), artist.get_edgecolor()
            artist.set_facecolor(exchanged(face))
            artist.set_edgecolor(exchanged(edge))
        elif isinstance(artist, Collection):
            if artist.get_array() is None:
                artist.set_facecolor(all_exchanged(artist.get_facecolor()))
            artist.set_edgecolor(all_exchanged(artist.get_edgecolor()))
        elif isinstance(artist, AxesImage) and artist.get_cmap().name == "white to blue":
            artist.set_cmap(SHADES)
    return figure


def exchanged(colour: Any) -> Any:
    """A colour of the light theme as the dark one has it; others, and nothing ("none"), as they are."""
    if isinstance(colour, str) and colour in ("none", "auto"):
        return colour
    *rgb, alpha = (float(part) for part in to_rgba(colour))
    if not alpha:  # an artist's own alpha would make it seen
        return "none"
    return (*_EXCHANGED.get((rgb[0], rgb[1], rgb[2]), tuple(rgb)), alpha)


def all_exchanged(colours: Any) -> Any:
    rows: Iterable[Any] = np.atleast_2d(colours) if not isinstance(colours, str) else []
    return colours if isinstance(colours, str) else [exchanged(row) for row in rows if len(row)]

"""The figures that generative tasks share: samples, reconstructions, samples by class, walks between two points."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from replab.tasks.base import Pictures
from replab.tasks.samples import ROW

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from replab.records.values import Values

CLASSES = 20  # rows of samples by class that a figure shows


def drawn(values: Values, walks: str = "from one test image to another, row by row") -> Pictures:
    """Those that the run kept arrays for: a control without generator has none, an unlabelled model none by class."""
    from replab.figures.gallery import grid

    arrays, name = values.arrays, values.title
    pictures: dict[str, Callable[[], Figure]] = {
        "samples": lambda: grid(arrays["samples"], title=f"{name}: samples"),
        "reconstructions": lambda: grid(
            paired(arrays["originals"], arrays["reconstructions"]),
            title=f"{name}\noriginals, and below each its reconstruction",
        ),
        "samples_by_class": lambda: by_class(arrays["samples_by_class"], values.classes, name),
        "around_centres": lambda: grid(
            arrays["around_centres"][: ROW * CLASSES], title=f"{name}\naround each K-means centre, row by row"
        ),
        "interpolation": lambda: grid(arrays["interpolation"], title=f"{name}\n{walks}"),
    }
    return {name: draw for name, draw in pictures.items() if name in arrays}


def by_class(pixels: np.ndarray, classes: list[str], name: str) -> Figure:
    """A row of samples per class, of at most CLASSES classes."""
    from replab.figures.gallery import grid

    shown = min(len(classes), CLASSES, len(pixels) // ROW)
    title = f"{name}: samples by class" + (f": the first {shown} of {len(classes):,}" if shown < len(classes) else "")
    return grid(pixels[: shown * ROW], [name for name in classes[:shown] for _ in range(ROW)], title=title)


def paired(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Two sets of images as pairs of rows."""
    parts = [part for i in range(0, len(above), ROW) for part in (above[i : i + ROW], below[i : i + ROW])]
    return np.concatenate(parts)

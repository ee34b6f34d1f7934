"""What all pictures share: colours, sizes, bare axes, number formats, saving without half-written files."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from replab import files
from replab.figures import fonts
from replab.figures.theme import darken
from replab.records.text import visible

# Okabe and Ito's palette, told apart by people with every common kind of colour blindness, and three for ten classes;
# black is for text.
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, YELLOW = "#CC79A7", "#56B4E9", "#C9B800"  # the yellow is darkened: the original fades on white
BROWN, VIOLET, SILVER = "#7A4A1E", "#5A3E9B", "#9A9A9A"
PALETTE = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW, BROWN, VIOLET, SILVER)
INK, GREY, FAINT = "#222222", "#6B6B6B", "#DDDDDD"
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))  # told apart where colours run out
MARKERS = "osD^v"

# Words in a light colour of the palette would be hard to read on white: the same hue, darker.
WORDS = {ORANGE: "#A36A00", PURPLE: "#A8497F", SKY: "#1F7FBF", YELLOW: "#7A7000", SILVER: GREY, GREEN: "#00805D"}

TITLE, LABEL, SMALL = 11, 9, 7.5  # font sizes in points
DPI = 130


def colour(index: int) -> str:
    return PALETTE[index % len(PALETTE)]


def dash(index: int):
    """The line style that tells run 11 from run 1, which share a colour."""
    return DASHES[index // len(PALETTE) % len(DASHES)]


def marker(index: int) -> str:
    """The same for points."""
    return MARKERS[index // len(PALETTE) % len(MARKERS)]


def new(width: float, height: float, title: str = "") -> Figure:
    """An empty white figure of this size in inches, laid out so that nothing is cut off."""
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white", dpi=DPI)
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.08)  # type: ignore[union-attr, call-arg]
    if title:
        figure.suptitle(plain(title), fontsize=TITLE, color=INK, fontweight="bold")
    return figure


def message(text: str, title: str = "") -> Figure:
    """A picture that says in words why there is nothing to draw."""
    figure = new(5.5, 1.6, title)
    ax = figure.add_subplot()
    ax.set_axis_off()
    ax.text(0.5, 0.5, plain(text), ha="center", va="center", fontsize=LABEL + 2, color=GREY, wrap=True)
    return figure


def dress(ax: Axes, x: str = "", y: str = "", title: str = "", grid: str = "y") -> Axes:
    """Bare axes: two thin spines, a faint grid, small grey numbers. `grid` is "x", "y", "both" or ""."""
    ax.set_facecolor("white")
    ax.set_xlabel(plain(x), fontsize=LABEL, color=INK)
    ax.set_ylabel(plain(y), fontsize=LABEL, color=INK)
    if title:
        ax.set_title(plain(title), fontsize=LABEL + 1, color=INK, loc="left")
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(GREY)
        spine.set_linewidth(0.8)
    ax.tick_params(labelsize=SMALL + 0.5, colors=GREY, labelcolor=INK, length=3, width=0.8)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(True, axis=grid, color=FAINT, linewidth=0.6)  # type: ignore[arg-type]
    return ax


def plane(ax: Axes, title: str = "") -> Axes:
    """Axes of points whose places mean nothing but nearness: no numbers, no lines."""
    dress(ax, title=title, grid="")
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax


def point_size(count: int) -> float:
    """Of a scatter's marks: large where they are few."""
    return float(np.clip(9000 / max(1, count), 7, 40))


def log_x(ax: Axes) -> None:
    """A log axis whose ticks read 1e-3, as people write rates; plain text, so threads share no parser."""
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    decades = math.log10(high / low)
    # Under two decades the powers of ten alone would leave one tick or none.
    subs = (1.0,) if decades > 3 else (1.0, 3.0) if decades > 1.2 else (1.0, 2.0, 3.0, 5.0, 7.0)
    locator = LogLocator(subs=subs, numticks=12) if decades > 0.4 else MaxNLocator(4)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    ax.xaxis.set_minor_formatter(NullFormatter())


def number(value: float) -> str:
    """Three significant digits, without the clutter: 0.0312, 1.2e-05 → 1.2e-5, 12300 → 12,300."""
    if not math.isfinite(value):
        return "not finite"
    if value == 0:
        return "0"
    if abs(value) < 1e-2 or abs(value) >= 1e6:
        digits, _, power = f"{value:.2e}".partition("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def plain(text: object) -> str:
    """Text as it is: a class named "$5 to $10" is not a formula, and control characters are not drawn."""
    return fonts.drawable(visible(text, keep="\n")).replace("$", r"\$")


def short(text: object, length: int) -> str:
    """The text, cut in the middle where the two ends tell more than the beginning alone."""
    text = str(text)
    if len(text) <= length:
        return text
    tail = (length - 1) // 3
    return text[: length - 1 - tail] + "…" + (text[-tail:] if tail else "")


def finite(values: Iterable[object]) -> np.ndarray:
    """Numbers as floats, with NaN for whatever is missing, infinite or not a number."""
    array = np.array([value if is_number(value) else math.nan for value in values], dtype=float)
    array[~np.isfinite(array)] = math.nan
    return array


def is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def ceiling(values: Sequence[float] | np.ndarray, quantile: float, factor: float) -> float | None:
    """Where to cut the y-axis so that a few exploded values do not flatten the others; None when none do.

    Exploded: further above the smallest value than `factor` times the distance to the given quantile, or
    `factor` times that value itself where the others lie close together.
    """
    known = np.sort(np.asarray(values, dtype=float))
    known = known[np.isfinite(known)]
    if len(known) < 3:
        return None
    lowest, usual = known[0], np.quantile(known, quantile, method="lower")
    reach = max(usual - lowest, abs(lowest), 1e-12)
    top = lowest + factor * reach
    if known[-1] <= top:
        return None
    return float(known[known <= top][-1])  # the largest one that is shown in full


def save(figure: Figure, path: str | Path, dpi: int = DPI, theme: str = "") -> Path:
    """Write the picture; nobody ever reads half a file."""
    path = Path(path)
    with contextlib.suppress(OSError):  # opening the file says what is wrong
        path.parent.mkdir(parents=True, exist_ok=True)
    with files.replacing(path) as file:
        write(figure, file, path.suffix.lstrip(".") or "png", dpi, theme)
    return path


def write(figure: Figure, file: IO[bytes], kind: str = "png", dpi: int = DPI, theme: str = "") -> None:
    """For light or dark pages; by default as REPLAB_THEME says."""
    if (theme or os.environ.get("REPLAB_THEME")) == "dark":
        darken(figure)
    figure.savefig(file, dpi=dpi, format=kind)

"""Pictures of what a model looks at: maps over images, attention by layer and head, the first layer's filters."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replab.figures import style
from replab.figures.figure import figure
from replab.figures.gallery import grid

if TYPE_CHECKING:
    from replab.records.values import Values

COLOURS = "viridis"  # even steps look even, in print and to the colour-blind
LAYERS, HEADS = 16, 16  # of an attention figure, at most


@figure(place=70)
def explained(values: Values) -> Figure | None:
    """What the answers rest on, for the most confident right and wrong ones."""
    shown = values.explanations
    if not shown:
        return None
    return draw_maps(
        [e.pixels for e in shown],
        [e.maps for e in shown],
        [e.scores for e in shown],
        [_answer(values, e.label, e.target) for e in shown],
        title=f"{values.title}\nwhat the answer rests on",
    )


@figure(place=80)
def attention_right(values: Values) -> Figure | None:
    """A ViT's attention on the most confident right answer."""
    return _attention(values, right=True)


@figure(place=81)
def attention_wrong(values: Values) -> Figure | None:
    """The same on the most confident wrong answer."""
    return _attention(values, right=False)


@figure(place=90)
def filters(values: Values) -> Figure | None:
    """The first convolution's kernels."""
    if values.filters is None:
        return None
    return draw_filters(values.filters, f"{values.title}: filters of the first layer")


def _attention(values: Values, right: bool) -> Figure | None:
    for e in values.explanations:
        if e.attention is not None and (e.label == e.target) is right:
            answer = style.short(_answer(values, e.label, e.target), 28)
            return draw_attention(e.pixels, e.attention, f"{values.title}\nCLS attention: {answer}")
    return None


def _answer(values: Values, label: int, target: int) -> str:
    return f"{values.classes[label]} → {values.classes[target]}"


def draw_maps(
    images: Sequence[np.ndarray],
    found_maps: Sequence[Mapping[str, np.ndarray]],
    scores: Sequence[Mapping[str, tuple[float, float]]],
    captions: Sequence[str],
    title: str = "",
) -> Figure:
    """A row per image: the image, then each map over it with its insertion and deletion score."""
    if not images:
        return style.message("no images to explain", title)
    names = list(dict.fromkeys(name for one in found_maps for name in one))
    figure = style.new(1.9 * (len(names) + 1), 2.3 * len(images) + 0.4, title)
    axes = figure.subplots(len(images), len(names) + 1, squeeze=False)
    for row, image, own, judged, caption in zip(axes, images, found_maps, scores, captions):
        _image(row[0], image)
        row[0].set_title(style.plain(style.short(caption, 30)), fontsize=style.SMALL, color=style.INK)
        for ax, name in zip(row[1:], names):
            ax.set_axis_off()
            if name not in own:
                continue
            _image(ax, image)
            ax.imshow(own[name], cmap=COLOURS, alpha=0.6, extent=_extent(image))
            deletion, insertion = judged[name]
            ax.set_title(f"{name}\nin {insertion:.2f}, out {deletion:.2f}", fontsize=style.SMALL, color=style.INK)
    if all("random" in judged for judged in scores):
        out, inside = (np.mean([judged["random"][i] for judged in scores]) for i in (0, 1))
        text = "in, out: mean probability while the most important pixels are uncovered or covered first;"
        text += f" a random map has {inside:.2f}, {out:.2f}"
        columns = int(13 * figure.get_figwidth())  # characters that fit
        figure.supxlabel(textwrap.fill(text, columns), fontsize=style.SMALL, color=style.GREY)
    return figure


def draw_attention(image: np.ndarray, weights: np.ndarray, title: str = "") -> Figure:
    """The CLS token's attention over the image: (layers, heads, rows, columns), a row per layer, then the mean."""
    weights = weights[-LAYERS:, :HEADS]
    layers, heads = weights.shape[:2]
    figure = style.new(1.1 * (heads + 2) + 0.4, 1.15 * layers + 0.5, title)
    axes = figure.subplots(layers, heads + 2, squeeze=False)
    for layer, row in enumerate(axes):
        shown = [*weights[layer], weights[layer].mean(0)]
        _image(row[0], image)
        row[0].text(-0.08, 0.5, f"layer {layer + 1}", transform=row[0].transAxes, rotation=90, ha="right", va="center",
                    fontsize=style.SMALL, color=style.INK)  # fmt: skip
        for head, (ax, one) in enumerate(zip(row[1:], shown)):
            _image(ax, image)
            ax.imshow(one, cmap=COLOURS, vmin=0, alpha=0.6, extent=_extent(image))
            if layer == 0:
                ax.set_title(f"head {head + 1}" if head < heads else "mean", fontsize=style.SMALL, color=style.INK)
    return figure


def draw_filters(weights: np.ndarray, title: str = "first layer") -> Figure:
    """(N, C, k, k): in colour where there are three channels, else the mean over channels; at most 64."""
    shown = weights[:64] if weights.shape[1] == 3 else weights[:64].mean(1, keepdims=True)
    low, high = shown.min((1, 2, 3), keepdims=True), shown.max((1, 2, 3), keepdims=True)
    grey = 255 * (shown - low) / np.maximum(high - low, 1e-9)  # each from black to white
    return grid(grey.round().astype(np.uint8), columns=16, title=title, side=0.45, gap=0.1, framed=True)


def _image(ax: Axes, pixels: np.ndarray) -> None:
    ax.set_axis_off()
    shown = pixels[0] if len(pixels) == 1 else pixels.transpose(1, 2, 0)
    ax.imshow(shown, cmap="gray", vmin=0, vmax=255, extent=_extent(pixels))


def _extent(pixels: np.ndarray) -> tuple[float, float, float, float]:
    return (0.0, float(pixels.shape[2]), float(pixels.shape[1]), 0.0)

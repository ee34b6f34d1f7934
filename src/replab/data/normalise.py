"""What pixels are normalised with: a recipe's setting → (mean, std) per channel, or None for plain [0, 1]."""

from __future__ import annotations

import math
from collections.abc import Sequence

from replab.data.images import Images, moments, statistics
from replab.errors import RecipeError
from replab.settings.choices import NORMALISATIONS

Normalisation = tuple[tuple[float, ...], tuple[float, ...]]


def normalisation(images: Images, how: str) -> Normalisation | None:
    """dataset: the set's own constants; half: 0.5/0.5; none; computed: from these images; or numbers.

    backbone: none here, the model's first layer does it.
    """
    channels = images.spec.channels
    if how in ("none", "backbone"):
        return None
    if how == "dataset":
        return images.mean, images.std
    if how == "half":
        return (0.5,) * channels, (0.5,) * channels
    if how == "computed":
        return statistics(moments(images.pixels), images.spec.height * images.spec.width)
    return _explicit(how, channels)


def spell(mean: Sequence[float] | None, std: Sequence[float] | None) -> str:
    """These very numbers as a recipe writes them: what `normalisation` reads back."""
    if mean is None or std is None:
        return "none"
    return ",".join(map(repr, mean)) + "/" + ",".join(map(repr, std))


def _explicit(how: str, channels: int) -> Normalisation:
    try:
        mean, std = (tuple(float(n) for n in part.split(",")) for part in how.split("/"))
    except ValueError:
        raise RecipeError(f"normalise must be {NORMALISATIONS}; got {how!r}") from None
    if not len(mean) == len(std) == channels:
        raise RecipeError(f"normalise must have one mean and one std per channel, here {channels} of each; got {how!r}")
    if not all(math.isfinite(m) for m in mean) or not all(0 < s < math.inf for s in std):
        raise RecipeError(f"normalise must have finite means and stds above 0, got {how!r}; use {NORMALISATIONS}")
    return mean, std

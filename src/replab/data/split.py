"""Which training images a search trains on, and which it is judged by. Test images are not among them."""

from __future__ import annotations

import math

from replab.data.images import Images
from replab.settings.recipe import derive_seed
from replab.settings.search import Search


def split_for_search(train: Images, search: Search, seed: int) -> tuple[Images, Images]:
    """(train, validation): a fraction of the training images, more where validation would be too small."""
    n, validation = split_sizes(len(train), search)
    subset = train.take(n, derive_seed(seed, 2))
    return subset.split(validation / len(subset), derive_seed(seed, 3))


def split_sizes(images: int, search: Search) -> tuple[int, int]:
    """(images of a search, how many of them validate)."""
    n = min(images, math.ceil(max(search.fraction * images, search.min_validation / search.validation)))
    return n, max(round(search.validation * n), min(search.min_validation, n // 3))

"""Which training images a search trains on, and which it is judged by. Test images are not among them."""

from __future__ import annotations

import math

from replab.data.images import Images
from replab.settings.recipe import derive_seed
from replab.settings.search import Search


def split_for_search(train: Images, search: Search, seed: int) -> tuple[Images, Images]:
    """(train, validation): a fraction of the training images, more where validation would be too small."""
    n = min(len(train), math.ceil(max(search.fraction * len(train), search.min_validation / search.validation)))
    subset = train.take(n, derive_seed(seed, 2))
    validation = max(round(search.validation * len(subset)), min(search.min_validation, len(subset) // 3))
    return subset.split(validation / len(subset), derive_seed(seed, 3))

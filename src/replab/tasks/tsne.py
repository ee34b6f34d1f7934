"""t-SNE: points of many dimensions in two, neighbours staying neighbours (1301.3342)."""

from __future__ import annotations

import numpy as np

from replab.errors import RunError

FEWEST = 5  # points it can place
STEPS = 750  # by then 10,000 points have long settled; scikit-learn's 1,000 take a third longer


def two_dimensions(rows: np.ndarray, seed: int) -> np.ndarray:
    """(N, 2) from a PCA start. scikit-learn's Barnes-Hut: it is there anyway, a faster one would be a dependency."""
    from sklearn.manifold import TSNE

    if len(rows) < FEWEST:
        raise RunError(f"t-SNE needs at least {FEWEST} images, got {len(rows)}")
    perplexity = min(30.0, (len(rows) - 1) / 3)
    settled = TSNE(2, perplexity=perplexity, init="pca", max_iter=STEPS, random_state=seed % 2**32)
    return np.asarray(settled.fit_transform(rows.astype(np.float32, copy=False)))

"""K-means clusters as classifiers: fitted and named on some images, applied to others."""

from __future__ import annotations

import numpy as np


def centres(points: np.ndarray, k: int, seed: int) -> np.ndarray:
    """(k, D): the best of four K-means runs; fewer where there are fewer points."""
    from sklearn.cluster import KMeans

    fitted = KMeans(min(k, len(points)), n_init=4, random_state=seed % 2**32).fit(points)
    return np.asarray(fitted.cluster_centers_, np.float32)


def assign(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The nearest centre of each point, (N,)."""
    distance = (centres**2).sum(1) - 2 * points @ centres.T  # |points|² is the same for all centres
    return np.asarray(distance.argmin(1))


def names(assigned: np.ndarray, labels: np.ndarray, classes: int) -> np.ndarray:
    """The class most frequent in each cluster, (k,); an empty cluster has the most frequent class of all."""
    counts = table(assigned, labels, max(classes, int(assigned.max()) + 1), classes)
    empty = counts.sum(1) == 0
    counts[empty] = counts.sum(0)
    return np.asarray(counts.argmax(1))


def table(assigned: np.ndarray, labels: np.ndarray, k: int, classes: int) -> np.ndarray:
    """Counts, (cluster, class)."""
    return np.bincount(assigned * classes + labels, minlength=k * classes).reshape(k, classes)


def measure(assigned: np.ndarray, names: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Accuracy by the given names; Hungarian accuracy (clusters and classes paired best) and NMI need no names."""
    from scipy.optimize import linear_sum_assignment
    from sklearn.metrics import normalized_mutual_info_score

    k = max(int(assigned.max()), int(labels.max()), len(names) - 1) + 1
    counts = table(assigned, labels, k, k)
    rows, columns = linear_sum_assignment(-counts)
    return {
        "cluster_accuracy": float((names[assigned] == labels).mean()),
        "hungarian_accuracy": float(counts[rows, columns].sum() / len(labels)),
        "nmi": float(normalized_mutual_info_score(labels, assigned)),
    }


def accuracy_fitted_here(points: np.ndarray, centres: np.ndarray, labels: np.ndarray) -> float:
    """The published way: clusters and names of the very images that are then counted. Never a fair number."""
    assigned = assign(points, centres)
    return float((names(assigned, labels, int(labels.max()) + 1)[assigned] == labels).mean())

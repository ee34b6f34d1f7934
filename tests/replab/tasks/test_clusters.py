"""Clusters as classifiers, against counts by hand."""

from __future__ import annotations

import numpy as np
import pytest

from replab.tasks import clusters

POINTS = np.array([[0.0, 0], [0.1, 0], [5, 5], [5.1, 5], [5, 5.1], [9, 0]], np.float32)


def test_three_clear_clusters_are_found_and_named_by_majority():
    centres = clusters.centres(POINTS, 3, seed=0)
    assigned = clusters.assign(POINTS, centres)
    assert len({*assigned[:2]}) == len({*assigned[2:5]}) == 1
    names = clusters.names(assigned, np.array([1, 1, 0, 0, 2, 2]), 3)
    assert names[assigned].tolist() == [1, 1, 0, 0, 0, 2]


def test_names_come_from_elsewhere_and_the_pairing_is_best():
    assigned, labels = np.array([0, 0, 1, 1, 2, 2]), np.array([1, 1, 1, 0, 2, 2])
    found = clusters.measure(assigned, np.array([1, 1, 2]), labels)
    assert found["cluster_accuracy"] == pytest.approx(5 / 6)
    assert found["hungarian_accuracy"] == pytest.approx(5 / 6)
    worse = clusters.measure(assigned, np.array([0, 0, 0]), labels)
    assert worse["cluster_accuracy"] == pytest.approx(1 / 6)
    assert worse["hungarian_accuracy"] == found["hungarian_accuracy"]
    assert clusters.measure(labels, np.arange(3), labels)["nmi"] == pytest.approx(1)


def test_an_empty_cluster_has_a_name_and_few_points_few_clusters():
    assert clusters.names(np.array([0, 0]), np.array([1, 1]), 3).tolist() == [1, 1, 1]
    assert len(clusters.centres(POINTS[:2], 10, seed=0)) == 2

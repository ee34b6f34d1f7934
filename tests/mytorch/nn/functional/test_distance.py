"""normalize and cosine_similarity against torch."""

import numpy as np
import pytest
from oracle import check, gradcheck

import mytorch


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_normalize(p, dim):
    check(lambda t, x: t.nn.functional.normalize(x, p, dim), (3, 4, 2))


def test_cosine_similarity():
    check(lambda t, a, b: t.nn.functional.cosine_similarity(a, b), (3, 4), (3, 4))
    check(lambda t, a, b: t.nn.functional.cosine_similarity(a, b, dim=-1), (3, 2, 4), (3, 2, 4))


def test_numerical_gradients():
    gradcheck(lambda x: mytorch.nn.functional.normalize(x), np.array([[3.0, 4.0], [0.5, -1.0]]))

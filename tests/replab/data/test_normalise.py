"""What a recipe's `normalise` may say."""

import numpy as np
import pytest

from replab.data.images import Images
from replab.data.normalise import normalisation
from replab.errors import RecipeError

PIXELS = np.random.default_rng(0).integers(0, 256, (5, 3, 4, 4), dtype=np.uint8)
IMAGES = Images(PIXELS, None, (), (0.1, 0.2, 0.3), (0.4, 0.5, 0.6))


def test_the_ways():
    assert normalisation(IMAGES, "dataset") == (IMAGES.mean, IMAGES.std)
    assert normalisation(IMAGES, "half") == ((0.5,) * 3, (0.5,) * 3)
    assert normalisation(IMAGES, "none") is None
    assert normalisation(IMAGES, "0.1,0.2, 0.3/1,2,3") == ((0.1, 0.2, 0.3), (1.0, 2.0, 3.0))
    mean, std = normalisation(IMAGES, "computed")
    np.testing.assert_allclose(mean, (PIXELS / 255).mean((0, 2, 3)))
    np.testing.assert_allclose(std, (PIXELS / 255).std((0, 2, 3)))


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("datset", "normalise must be dataset, half"),
        ("0.5/0.5/0.5", "normalise must be"),
        ("0.5/0.5", "here 3 of each; got '0.5/0.5'"),
        ("0,0,0/1,1,0", "stds above 0"),
        ("0,0,nan/1,1,1", "finite means"),
        ("0,0,0/1,1,-1", "stds above 0"),
    ],
)
def test_bad_values(how, said):
    with pytest.raises(RecipeError) as error:
        normalisation(IMAGES, how)
    assert said in str(error.value)
    assert how in str(error.value)

"""make_grid and save_image beside torchvision's."""

import io

import numpy as np
import pytest
import torch
from PIL import Image

import mytorch
import replab.backends.torchvision_cpu  # noqa: F401
from mytorch.vision import utils

import torchvision.utils  # isort: skip

SETTINGS = [
    {},
    {"normalize": True},
    {"nrow": 4, "padding": 0, "normalize": True, "value_range": (-1, 1)},
    {"normalize": True, "scale_each": True, "pad_value": 0.5},
]


@pytest.mark.parametrize("shape", [(5, 3, 7, 9), (1, 1, 4, 4), (11, 1, 5, 5), (3, 8, 8), (6, 6)])
@pytest.mark.parametrize("settings", SETTINGS)
def test_grids(shape, settings):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    before = x.copy()
    ours = utils.make_grid(mytorch.from_numpy(x), **settings).numpy()
    np.testing.assert_allclose(ours, torchvision.utils.make_grid(torch.from_numpy(x), **settings).numpy(), atol=1e-6)
    np.testing.assert_array_equal(x, before)


def test_a_list_of_images_is_a_grid_and_a_wrong_value_is_named():
    images = [mytorch.rand(3, 4, 4) for _ in range(3)]
    assert utils.make_grid(images).shape == (3, 8, 20)
    with pytest.raises(TypeError, match="tensor or list of tensors expected"):
        utils.make_grid("images")


@pytest.mark.parametrize("channels", [1, 3])
def test_saved_pictures_are_the_same(tmp_path, channels):
    x = np.random.default_rng(0).uniform(-0.1, 1.1, size=(5, channels, 7, 9)).astype(np.float32)
    ours, theirs = tmp_path / "ours.png", tmp_path / "theirs.png"
    utils.save_image(mytorch.from_numpy(x), str(ours), nrow=2)
    torchvision.utils.save_image(torch.from_numpy(x), str(theirs), nrow=2)
    np.testing.assert_array_equal(np.asarray(Image.open(ours)), np.asarray(Image.open(theirs)))
    file = io.BytesIO()
    utils.save_image(mytorch.from_numpy(x), file, format="png", nrow=2)
    assert file.getvalue() == ours.read_bytes()
    utils.save_image(mytorch.from_numpy(x), tmp_path / "ours.jpg")
    assert Image.open(tmp_path / "ours.jpg").format == "JPEG"

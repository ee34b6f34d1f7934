import numpy as np
import pytest

from replab.figures.gallery import draw_gallery, grid

CLASSES = ["cat", "dog", "ship"]


def images(count, channels=3, height=8, width=8):
    return np.random.default_rng(0).integers(0, 256, (count, channels, height, width), dtype=np.uint8)


def test_most_confident_mistakes_first(look):
    pixels = images(5)
    figure = draw_gallery(pixels, [0, 1, 2, 0, 1], [0, 2, 1, 1, 1], [0.99, 0.5, 0.97, 0.8, 0.9], CLASSES, "cnn")
    text = look(figure).replace("\N{NO-BREAK SPACE}", " ")
    captions = [line for line in text.split("\n") if "→" in line]
    assert captions == ["ship → dog (97 %)", "cat → dog (80 %)", "dog → ship (50 %)"]
    assert "cnn" in text
    shown = figure.axes[0].images
    assert np.array_equal(shown[0].get_array(), pixels[2].transpose(1, 2, 0))


def test_only_the_first_few_of_many(look):
    labels = np.zeros(100, int)
    figure = draw_gallery(images(100), labels, labels + 1, np.linspace(0.4, 1, 100), CLASSES)
    assert "100 of 100 wrong, the 32 surest" in look(figure)
    assert len(figure.axes[0].images) == 32


def test_no_mistakes_say_so(look):
    labels = np.array([0, 1, 2])
    assert "no mistakes among 3 images" in look(draw_gallery(images(3), labels, labels, [1.0] * 3, CLASSES, "mlp"))
    none = np.array([], dtype=int)
    assert "no mistakes" in look(draw_gallery(images(0), none, none, none, CLASSES)).split("\n")


def test_one_mistake_with_long_names(look, assert_no_overlap):
    names = ["a very long name of a class indeed", "pickup_truck", "streetcar"]
    figure = draw_gallery(images(16), [0] * 16, [1, 2] * 8, [0.9] * 16, names)
    assert "pickup truck" in look(figure)
    assert_no_overlap(figure.axes[0].texts)
    look(draw_gallery(images(1), [0], [1], [0.9], names))


@pytest.mark.parametrize("shape", [(1, 1, 8, 8), (13, 3, 16, 8), (9, 1, 64, 200)])
def test_grids_of_any_size(look, shape):
    figure = grid(images(*shape), columns=4, title="samples")
    assert "samples" in look(figure)
    assert len(figure.axes[0].images) == shape[0]


def test_grid_without_images(look):
    assert "no images" in look(grid(images(0)))


def test_what_is_no_image_is_refused():
    with pytest.raises(ValueError, match="uint8"):
        grid(images(2).astype(float))
    with pytest.raises(ValueError, match="1 or 3"):
        grid(images(2, 2))
    with pytest.raises(ValueError, match="2 images, but 1 captions"):
        grid(images(2), ["one"])

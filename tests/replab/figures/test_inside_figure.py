import numpy as np
import pytest

from replab.figures.inside import draw_attention, draw_filters, draw_maps


@pytest.mark.parametrize("names", [("occlusion",), ("occlusion", "Grad-CAM", "attention rollout", "layer 2")])
def test_maps_say_their_scores_beside_a_random_ones_and_nothing_is_cut(look, names):
    image, rng = np.zeros((1, 8, 8), np.uint8), np.random.default_rng(0)
    found = {name: rng.random((8, 8)) for name in names}
    scores = dict.fromkeys(names, (0.125, 0.75)) | {"random": (0.5, 0.375)}
    figure = draw_maps([image, image], [found, found], [scores, scores], ["cat → dog", "cat"])
    text = look(figure)
    assert "in 0.75, out 0.12" in text
    assert "a random map has 0.38, 0.50" in " ".join(text.split())
    (below,) = [t for t in figure.texts if "random" in t.get_text()]
    box = below.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width


def test_attention_has_a_row_a_layer_and_a_column_a_head(look):
    image = np.full((3, 8, 8), 200, np.uint8)
    figure = draw_attention(image, np.random.default_rng(0).random((3, 2, 4, 4)))
    text = look(figure)
    assert "layer 3" in text
    assert "head 2" in text
    assert "mean" in text
    assert len(figure.axes) == 3 * 4
    below, over = figure.axes[1].images  # the image itself, and the weights over all of it
    assert (below.get_array() == 200).all()
    assert over.get_extent() == below.get_extent()
    assert over.get_alpha() < 1


def test_filters_at_most_64(look):
    figure = draw_filters(np.random.default_rng(0).normal(size=(70, 1, 3, 3)))
    look(figure)
    shown = [image.get_array() for image in figure.axes[0].images]
    assert len(shown) == 64
    assert all((pixels.min(), pixels.max()) == (0, 255) for pixels in shown)


def test_filters_in_colour_and_a_constant_one(look):
    weights = np.random.default_rng(0).normal(size=(2, 3, 5, 5))
    weights[1] = 0.5
    figure = draw_filters(weights)
    look(figure)
    first, constant = (image.get_array() for image in figure.axes[0].images)
    assert first.shape == (5, 5, 3)
    assert (constant == 0).all()

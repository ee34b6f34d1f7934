import numpy as np

from replab.figures.embedding import embedding

POINTS = np.arange(32.0).reshape(16, 2)
LABELS = np.arange(16) % 12
SAID = np.where(np.arange(16) < 3, 8, LABELS)


def test_a_colour_or_marker_a_class_and_a_cross_on_each_mistake(look):
    figure = embedding(POINTS, LABELS, SAID, [f"class {i}" for i in range(12)], "t-SNE")
    text = look(figure)
    assert "class 8" in text
    assert "mistaken (3)" in text
    *classes, crosses = figure.axes[0].collections
    assert np.array_equal(crosses.get_offsets(), POINTS[:3])
    drawn = {(tuple(c.get_facecolor()[0]), c.get_paths()[0].vertices.tobytes()) for c in classes}
    assert len(drawn) == len(classes) == 12


def test_nothing_mistaken_and_nothing_at_all(look):
    assert "mistaken" not in look(embedding(POINTS, LABELS, LABELS, "abcdefghijkl"))
    assert "no images" in look(embedding(np.empty((0, 2)), LABELS[:0], LABELS[:0], "ab"))

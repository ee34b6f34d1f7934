import numpy as np
import pytest

from replab.figures.confusion import draw_confusion


def matrix(size, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, (size, size)) + 90 * np.eye(size, dtype=int)


def test_counts_and_row_percentages(look):
    text = look(draw_confusion([[90, 10], [0, 40]], ["cat", "dog"])).split("\n")
    assert {"90", "90.0 %", "10", "10.0 %", "40", "100 %", "cat", "dog"} <= set(text)
    assert "0.0 %" not in text  # an empty cell stays empty
    assert "Confusion: 130 of 140 right (92.86 %)" in text


@pytest.mark.parametrize("size", [3, 20])
def test_numbers_up_to_twenty_classes(look, assert_no_overlap, size):
    figure = draw_confusion(matrix(size), [f"class {i}" for i in range(size)])
    look(figure)
    ax = figure.axes[0]
    assert len(ax.texts) == 2 * np.count_nonzero(matrix(size))
    assert_no_overlap(ax.texts[: 4 * size])  # two rows of cells
    assert_no_overlap(ax.get_yticklabels())


def test_a_hundred_classes_have_no_numbers_but_the_worst_pairs(look, assert_no_overlap):
    counts = 90 * np.eye(100, dtype=int)
    counts[7, 9] = 30
    figure = draw_confusion(counts, [f"kind {i}" for i in range(100)])
    text = look(figure)
    assert not figure.axes[0].texts
    assert "most confused: kind 7 → kind 9 25 %" in text
    assert_no_overlap(figure.axes[0].get_yticklabels())


def test_a_class_without_images_and_no_mistakes(look):
    text = look(draw_confusion(np.diag([3, 0, 5]), ["a", "b", "c"]))
    assert "8 of 8 right (100.00 %)" in text
    assert "nan" not in text
    assert "no mistakes" in look(draw_confusion(np.eye(30, dtype=int), [str(i) for i in range(30)]))
    assert "no images" in look(draw_confusion(np.zeros((2, 2), int), ["a", "b"]))


def test_a_matrix_that_does_not_fit_its_classes_is_refused():
    with pytest.raises(ValueError, match="3x3"):
        draw_confusion(np.eye(2), ["a", "b", "c"])

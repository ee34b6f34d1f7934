import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replab.figures.calibration import draw_calibration, reliability
from replab.tasks.metrics.ece import ece


def test_ece_in_the_title_and_the_direction(look):
    text = look(draw_calibration([0.9] * 10, [True] * 5 + [False] * 5, title="cnn"))
    assert "cnn\nECE 40.00 %, too sure" in text
    assert "n = 10" in text
    assert "accuracy 50.0 %" in text
    assert "ECE 30.00 %, not sure enough" in look(draw_calibration([0.7, 0.7], [True, True]))


def test_the_same_error_as_the_evaluation_reports(look):
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(0, 2, (200, 5)), rng.integers(0, 5, 200)
    confidence = (np.exp(logits) / np.exp(logits).sum(1, keepdims=True)).max(1)
    text = look(draw_calibration(confidence, logits.argmax(1) == labels))
    assert f"ECE {100 * ece(logits, labels):.2f} %" in text


def test_certain_answers_and_none(look):
    assert "ECE 0.00 %" in look(draw_calibration([1.0, 0.0], [True, False]))
    assert "no predictions" in look(draw_calibration([], []))
    with pytest.raises(ValueError, match="one confidence per answer"):
        draw_calibration([0.5], [True, False])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=50), st.integers(1, 20))
def test_bins_hold_every_answer_once(answers, bins):
    confidence, correct = (np.array(column) for column in zip(*answers))
    count, sure, right = reliability(confidence, correct, bins)
    assert count.sum() == len(answers)
    assert np.isclose((count * sure).sum(), confidence.sum())
    assert np.isclose((count * right).sum(), correct.sum())

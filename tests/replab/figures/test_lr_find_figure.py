import numpy as np
import pytest

from replab.figures.lr_find import lr_find, smooth

RATES = np.geomspace(1e-6, 1, 60)
LOSSES = 2.3 - np.clip((np.log10(RATES) + 4) * 0.6, 0, 1.5) + 1e4 * (RATES > 0.3)


def test_suggestion_is_marked(look):
    figure = lr_find(RATES, LOSSES, 3e-3)
    text = look(figure)
    (ax,) = figure.axes
    assert "Learning-rate test: try 3e-3" in text
    assert "suggested 3e-3" in text
    assert any(np.allclose(line.get_xdata(), 3e-3) for line in ax.lines)
    assert ax.get_xscale() == "log"
    assert ax.get_ylim()[1] < 10  # the blow-up at the end leaves by the top


def test_losses_that_break_and_no_suggestion(look):
    broken = np.where(RATES > 0.1, np.nan, LOSSES)
    text = look(lr_find(RATES, broken))
    assert "loss not finite" in text
    assert "no rate to suggest" in text
    assert "no step gave a finite loss" in look(lr_find(RATES, np.full(60, np.nan)))


def test_a_given_smoothing_is_drawn_as_it_is(look):
    figure = lr_find(RATES, LOSSES, 1e-3, smoothed=np.full(60, 2.0))
    look(figure)
    assert any(np.array_equal(line.get_ydata(), np.full(60, 2.0)) for line in figure.axes[0].lines)


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="2 rates, but 1 losses"):
        lr_find([1e-3, 1e-2], [1.0])


def test_smoothing_of_a_constant_is_the_constant_until_it_breaks():
    values = smooth(np.array([2.0, 2.0, 2.0, np.nan, 2.0]))
    assert np.allclose(values[:3], 2)
    assert np.isnan(values[3:]).all()

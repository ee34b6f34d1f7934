"""What other protocols would have cost, worked out by hand."""

import pytest

from replab.runs import protocol_costs
from replab.settings.recipe import Recipe


def test_a_range_test_and_one_training():
    quick = Recipe.of_protocol("quick").replace(epochs_at_10k=16)
    search, training = protocol_costs.estimate(quick, 10.0, 1.0, 10_000, 100)
    assert training == pytest.approx(160.0)  # 16 epochs, and the test images are not looked at after each
    assert search == pytest.approx(10.0 * 50 * 100 / 10_000)  # 50 steps of 100


def test_every_trial_to_its_end_and_a_test_curve():
    notes = Recipe.of_protocol("notes")
    search, training = protocol_costs.estimate(notes, 10.0, 1.0, 50_000, 128)
    # 20 trials of 50 epochs on a fifth, of which a fifth validates: 8,000 of 50,000 images
    assert search == pytest.approx(20 * 50 * 10.0 * 8_000 / 50_000)
    assert training == pytest.approx(50 * 11.0)


def test_the_report_says_what_others_would_have_taken(finished_run):
    assert "| other protocols | standard about " in finished_run.report
    assert ", notes at most " in finished_run.report

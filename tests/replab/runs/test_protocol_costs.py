"""What other protocols would have cost, worked out by hand."""

from types import SimpleNamespace

import pytest

from replab.runs import protocol_costs
from replab.settings.length import UNSHIFTED
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


def made(**recipe):
    """A run of 10,000 images whose epochs took ten seconds, and whose test images were looked at once, in four."""
    times = [{"stage": "train", "train_seconds": 10.0}]
    standard = Recipe.of_protocol("standard").replace(**recipe)
    return SimpleNamespace(times=times, seconds={"evaluate": 4.0}, input={"train_images": 10_000}, recipe=standard,
                           chosen=standard)  # fmt: skip


def test_a_look_at_the_test_images_after_every_epoch_is_counted_where_there_was_one_look():
    search, training = protocol_costs.estimate(Recipe.of_protocol("notes"), 10.0, 4.0, 10_000, 128)
    assert (search, training) == (20 * 50 * 1.6, 50 * 14.0)
    assert protocol_costs.line(made()).endswith("notes at most 38m20s")


def test_a_model_that_is_trained_for_fewer_epochs_by_rule_would_be_by_other_protocols_too():
    usual, fewer = protocol_costs.line(made()), protocol_costs.line(made(epochs_at_10k=UNSHIFTED * 25))
    assert usual.startswith("quick about 2m46s")  # 16 epochs, and a range test of 50 steps of 128 images
    assert fewer.startswith("quick about 1m46s")  # 10 epochs

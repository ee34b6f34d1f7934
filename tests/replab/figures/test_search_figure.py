import math

import numpy as np

from replab.figures.search import draw_search


def trial(number, lr, value, state="complete", **more):
    given = {"number": number, "params": {"lr": lr}, "value": value, "state": state, "best_epoch": number + 3}
    return {**given, "reason": "", **more}


TRIALS = [
    trial(0, 1e-4, 0.5),
    trial(1, 1e-3, 0.3),
    trial(2, 1e-2, 0.4, "pruned"),
    trial(3, 0.1, 0.2, "failed"),
]


def markers(ax):
    return sorted(line.get_marker() for line in ax.lines)


def test_states_are_told_apart_and_the_chosen_is_ringed(look):
    figure = draw_search(TRIALS, 1)
    text = look(figure)
    (ax,) = figure.axes
    assert markers(ax) == ["D", "X", "o", "o"]  # the complete ones are one artist; the other "o" is the ring
    assert ax.get_xscale() == "log"
    rings = [line for line in ax.lines if line.get_markersize() > 10]
    assert [tuple(ring.get_xydata()[0]) for ring in rings] == [(1e-3, 0.3)]
    failed = next(line for line in ax.lines if line.get_marker() == "X")
    assert failed.get_ydata()[0] == ax.get_ylim()[1]
    assert "4 trials, 1 pruned, 1 failed" in text
    assert "chosen: lr 1e-3, loss 0.3" in text
    assert {"3", "4", "5"} <= {label.get_text() for label in ax.texts}  # best epochs


def test_a_diverged_trial_does_not_flatten_the_others(look):
    figure = draw_search([*TRIALS, trial(4, 0.5, 4e5), trial(5, 0.6, math.nan)], 1)
    text = look(figure)
    assert figure.axes[0].get_ylim()[1] < 1
    assert "400,000" in text
    assert "off the scale" in text


def test_one_trial(look):
    figure = draw_search([trial(0, 1e-3, 0.3)], 0)
    assert "1 trial\n" in look(figure)
    assert markers(figure.axes[0]) == ["o", "o"]


def test_all_failed_gives_the_reason(look):
    trials = [trial(i, 10.0**-i, None, "failed", reason="the loss is not finite") for i in range(1, 4)]
    text = " ".join(look(draw_search(trials, None)).split())
    assert "3 failed" in text
    assert "no trial ended with a finite loss. the loss is not finite" in text


def test_a_trial_still_running_is_left_out(look):
    assert "4 trials" in look(draw_search([*TRIALS, trial(9, 1e-3, None, "running")], 1))


def test_no_trials(look):
    assert "no trial" in look(draw_search([], None))


def test_one_panel_a_parameter_whatever_its_kind(look):
    trials = [
        trial(
            i,
            0,
            0.3 + i / 10,
            params={"lr": 10.0**-i, "optimizer": ["sgd", "adam"][i % 2], "dropout": i / 10},
        )
        for i in range(1, 5)
    ]
    figure = draw_search(trials, 1)
    text = look(figure)
    assert [ax.get_xscale() for ax in figure.axes] == ["log", "linear", "linear"]
    assert "adam" in text
    assert "dropout" in text


def test_crowded_numbers_are_left_out_instead_of_overlapping(look, assert_no_overlap):
    rng = np.random.default_rng(0)
    figure = draw_search([trial(i, 1e-3 * 1.01 ** rng.normal(), 0.3 + 0.01 * rng.random()) for i in range(40)], 7)
    look(figure)
    (ax,) = figure.axes
    assert 3 < len(ax.texts) <= 40
    assert_no_overlap(ax.texts)

import math

import pytest

from replab.figures.curves import curves_of, draw_curves, with_end


def rows(epochs, scale=1.0):
    return [
        {
            "epoch": float(e),
            "lr": 1e-3,
            "train_loss": scale * 2 / e,
            "train_accuracy": 1 - 0.5 / e,
            "test_loss": scale * 2 / e + 0.1,
            "test_accuracy": 0.95 - 0.5 / e,
            "test_ece": 0.01,
        }
        for e in range(1, epochs + 1)
    ]


def test_loss_left_accuracy_right_train_dashed_ends_written(look):
    figure = draw_curves(rows(10), "cnn on digits")
    text = look(figure)
    loss, accuracy = figure.axes
    assert loss.get_title(loc="left") == "loss"
    assert accuracy.get_title(loc="left") == "accuracy (%)"
    dashed = {line.get_ydata()[0]: line.is_dashed() for line in loss.lines}
    assert dashed == {2.0: True, 2.1: False}
    assert "cnn on digits" in text
    assert "test 0.3" in text
    assert "train 95.00 %" in text
    assert "test 90.00 %" in text


def test_one_epoch_is_a_marker(look):
    figure = draw_curves(rows(1))
    assert "test 45.00 %" in look(figure)
    assert all(line.get_marker() == "o" for ax in figure.axes for line in ax.lines)


def test_two_hundred_epochs_have_no_markers(look):
    figure = draw_curves(rows(200))
    look(figure)
    assert all(line.get_marker() == "None" for ax in figure.axes for line in ax.lines)


def test_a_loss_that_breaks_is_named_and_the_rest_is_drawn(look):
    broken = rows(10)
    for row in broken[5:]:
        row["train_loss"], row["test_loss"] = math.nan, math.inf
    text = look(draw_curves(broken))
    assert "not finite in epoch 6" in text
    assert "test 0.5" in text  # the last finite value


def test_nothing_but_nan_still_gives_a_picture(look):
    assert "not finite in epoch 1" in look(draw_curves([{"epoch": 1, "train_loss": math.nan}]))


def test_generative_metrics_get_a_panel_each(look):
    made = [{"epoch": e, "train_mse": 9 / e, "train_kl": e / 3, "test_mse": 10 / e} for e in range(1, 6)]
    figure = draw_curves(made)
    look(figure)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["MSE", "KL"]


def test_adversarial_losses_share_a_panel_in_two_colours(look):
    figure = draw_curves([{"epoch": e, "critic_loss": 0.7, "generator_loss": 1.0 + e} for e in range(1, 6)])
    text = look(figure)
    (ax,) = figure.axes
    assert len({line.get_color() for line in ax.lines}) == 2
    assert "critic 0.7" in text
    assert "generator 6" in text


def test_one_exploded_epoch_does_not_flatten_the_rest(look):
    exploded = rows(30)
    exploded[3]["train_loss"] = 1e7
    figure = draw_curves(exploded)
    assert "peak 1e7" in look(figure)
    assert figure.axes[0].get_ylim()[1] < 10


def test_small_losses_are_written_as_on_the_axis(look):
    assert "train 0.0057" in look(draw_curves([{"epoch": e, "train_loss": 0.0057 * (11 - e)} for e in range(1, 11)]))


def test_no_rows_say_so(look):
    assert "no epochs" in look(draw_curves([]))


def test_several_runs_one_colour_each(look, assert_no_overlap):
    runs = {f"run {i}": rows(10 + i, 1 + 0.001 * i) for i in range(6)}
    figure = curves_of(runs, title="six runs")
    text = look(figure)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["test loss", "test accuracy (%)"]
    assert all(len({line.get_color() for line in ax.lines}) == 6 for ax in figure.axes)
    assert "run 5" in text
    for ax in figure.axes:  # six lines end at nearly the same height
        assert_no_overlap(ax.texts)


def test_runs_without_accuracy_leave_one_panel(look):
    figure = curves_of({"a": [{"epoch": 1, "test_loss": 1.0}], "b": [{"epoch": 1, "test_loss": 2.0}]})
    look(figure)
    assert len(figure.axes) == 1
    assert "no epochs" in look(curves_of({"a": []}))


@pytest.mark.parametrize("name", ["$5 to $10", r"$\bad{ and $", "a_b^c", "Ελλάδα"])
def test_names_are_text_and_not_formulas(look, name):
    assert name in look(curves_of({name: rows(3)}))


def test_a_critics_share_has_a_name_of_its_own(look):
    look(figure := draw_curves([{"epoch": 1.0, "train_critic_loss": 1.2, "test_taken_for_real": 0.6}]))
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["loss", "share taken for real"]


def test_a_test_that_was_made_once_is_the_last_point():
    rows = [{"epoch": e, "train_loss": 1 / e, "train_accuracy": 0.5} for e in (1, 2, 3)]
    ended = with_end(rows, {"loss": 0.4, "accuracy": 0.9, "ece": 0.1})
    assert ended[:2] == rows[:2]
    assert ended[2] == {**rows[2], "test_loss": 0.4, "test_accuracy": 0.9}
    every = [{**row, "test_loss": 0.5} for row in rows]
    assert with_end(every, {"loss": 0.4}) == every
    assert with_end([], {"loss": 0.4}) == []

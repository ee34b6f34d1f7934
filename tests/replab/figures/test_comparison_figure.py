from replab.figures.comparison import accuracy_against_time


def row(name, accuracy, seconds, reach=0.01):
    return {
        "name": name,
        "accuracy": accuracy,
        "low": accuracy - reach,
        "high": accuracy + reach,
        "seconds": seconds,
    }


ROWS = [row("slow and bad", 0.6, 500), row("mlp", 0.5, 10), row("cnn", 0.8, 60), row("resnet18", 0.93, 900)]


def test_the_front_holds_what_nothing_faster_beats(look, assert_no_overlap):
    figure = accuracy_against_time(ROWS)
    text = look(figure)
    (ax,) = figure.axes
    front = next(line for line in ax.lines if line.get_drawstyle() == "steps-post")
    assert [tuple(point) for point in front.get_xydata()[:3]] == [(10, 50), (60, 80), (900, 93)]
    assert ax.get_xscale() == "log"
    assert all(row["name"] in text for row in ROWS)
    assert "1 min" in text
    assert_no_overlap(ax.texts)


def test_crowded_names_do_not_overlap(look, assert_no_overlap):
    figure = accuracy_against_time([row(f"model {i}", 0.9 + i / 1000, 100 + i) for i in range(5)])
    look(figure)
    assert len(figure.axes[0].texts) == 5
    assert_no_overlap(figure.axes[0].texts)


def test_rows_without_interval_or_time(look):
    bare = {"name": "mlp", "accuracy": 0.9, "low": None, "high": None, "seconds": 3.0}
    untimed = {**bare, "name": "old", "seconds": None}
    text = look(accuracy_against_time([bare, untimed]))
    assert "1 without time or accuracy left out" in text
    assert "old" not in text.split("\n")
    assert "no model has both" in look(accuracy_against_time([untimed]))

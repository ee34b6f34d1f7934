"""A report is bounded, whatever the number of classes, and shows names as they are, whatever their characters."""

import numpy as np
import pytest
from PIL import Image

from replab.records.values import Values, arrays
from replab.report.write import write

NAMES = ["a|b", "<b>bold</b>", "*star*", "new\nline", "\x1b[31mred", "[link](x)", "`code`", "_under_"]


@pytest.fixture
def many(a_run, monkeypatch):
    """A finished run whose 300 classes have odd names, and which makes mistakes."""
    monkeypatch.setattr(arrays, "BLOCK", 4096)  # rows come in several blocks
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 300, 900)
    logits = rng.normal(size=(900, 300)).astype(np.float32)
    logits[np.arange(900), np.where(rng.random(900) < 0.2, (labels + 1) % 300, labels)] += 9
    record = a_run.record
    classes = [NAMES[i % len(NAMES)] + str(i) for i in range(300)]
    record.write_json("input.json", {**a_run.input, "classes": classes, "test_images": 900})
    wrong = np.flatnonzero(logits.argmax(1) != labels)[:3]
    pixels = np.zeros((len(wrong), 1, 8, 8), np.uint8)
    record.write_predictions({"logits": logits, "labels": labels, "mistake_index": wrong, "mistake_pixels": pixels})
    return a_run


def test_the_report_stays_small(many):
    write(many.record)
    text = many.report
    assert "The 40 least accurate of 300 classes" in text
    assert len(text) < 20_000
    with Image.open(many.figures["confusion"].path) as picture:
        assert max(picture.size) < 2000
    answers = Values(many.record).answers
    kept = many.predictions
    np.testing.assert_array_equal(answers.predicted, kept["logits"].argmax(1))
    assert answers.confidence.shape == (900,)


def test_names_do_not_become_markup(many):
    write(many.record)
    text = many.report
    assert "\x1b" not in text
    assert "<b>" not in text.split("## By class")[1].split("## Structure")[0]
    rows = [line for line in text.split("## By class")[1].splitlines() if line.startswith("|")]
    for row in rows:  # five cells, whatever bars a name has
        assert row.replace("\\|", "").count("|") == 6, row

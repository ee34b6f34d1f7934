"""Models with their counts and layers, data sets with their classes and images: in a real browser."""

import pytest

from replab.errors import ReplabError
from replab.web import looks


def test_models_are_counted_and_data_is_looked_at(browser, page):
    address, token = page
    browser.open(f"{address}catalogue?token={token}")
    count = "#models tr[data-name=acgan] td"
    browser.wait(lambda: browser.one(count).text == "1,023,819", 60)
    browser.click("#models tr[data-name=mlp] button")
    browser.wait(lambda: browser.all(".diagram .box"), 60)
    assert "535,818 parameters" in browser.one("#closer").text
    browser.one("#closer form button").click()
    browser.click("#sources tr[data-name=digits] button")
    browser.wait(lambda: browser.all("#closer canvas[data-ready]"), 60)
    text = browser.one("#closer").text
    assert "1,438 training, 359 test, 1x8x8" in text
    assert len(browser.all("#closer .probabilities li")) == 10
    assert len(browser.all("#closer canvas")) == 48  # digits has no copies


def test_only_listed_names_are_looked_at(tmp_path):
    (tmp_path / "images").mkdir()
    for look, name in ((looks.model, "mine.py:build"), (looks.data, str(tmp_path / "images")), (looks.data, "hf:x")):
        with pytest.raises(ReplabError):
            look(name)


def test_copies_come_after_what_they_copy():
    import numpy as np

    from replab.data.images import Images
    from replab.data.inspect import copies

    pixels = np.array([1, 2, 1, 3, 2, 1], np.uint8)[:, None, None, None]
    assert copies(Images(pixels, None, (), (0.5,), (0.5,)), 10).tolist() == [0, 2, 1, 4, 5]

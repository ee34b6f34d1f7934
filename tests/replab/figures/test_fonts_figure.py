"""Class names in other scripts: drawn where a font has them, else spelled by code points; never an empty box."""

import io
import warnings

from replab.figures import fonts, style


def test_accents_are_drawn_and_joined_to_their_letters():
    assert fonts.drawable("été, Straße, Ελλάδα") == "été, Straße, Ελλάδα"
    assert fonts.drawable("e\N{COMBINING ACUTE ACCENT}te") == "éte"


def test_what_no_font_has_is_written_by_code_points(monkeypatch):
    monkeypatch.setattr(fonts, "_has", lambda character: False)
    assert fonts.drawable("猫 cat") == "U+732B  cat"
    assert fonts.drawable("cat") == "cat"


def test_a_picture_with_chinese_names_warns_of_nothing():
    figure = style.new(3, 2, "猫和狗 → chaîne")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        style.write(figure, io.BytesIO())

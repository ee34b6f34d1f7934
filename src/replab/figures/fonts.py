"""Names of classes in any script: drawn by a font of this machine that has them, else written by their code points."""

from __future__ import annotations

import unicodedata
from functools import cache

import matplotlib
from matplotlib import font_manager

DEFAULT = "DejaVu Sans"  # comes with matplotlib: Latin with every accent, Greek, Cyrillic, Arabic, Hebrew …
# fonts with Chinese, Japanese and Korean on Linux, macOS and Windows, the first that is there is used
MORE = (
    "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei",
    "Droid Sans Fallback", "PingFang SC", "Hiragino Sans GB", "Heiti TC", "Arial Unicode MS", "Microsoft YaHei",
    "SimHei", "Malgun Gothic", "Noto Sans Devanagari", "Noto Sans Thai",
)  # fmt: skip


@cache
def families() -> tuple[str, ...]:
    """The fonts that text is drawn with, in order; matplotlib is told of them."""
    there = set(font_manager.fontManager.get_font_names())
    found = (DEFAULT, *(name for name in MORE if name in there))
    matplotlib.rcParams["font.family"] = list(found)
    return found


def drawable(text: str) -> str:
    """The text with what no font can draw as U+732B, instead of an empty box and a warning."""
    if text.isascii():
        return text
    whole = unicodedata.normalize("NFC", text)  # an accent of its own is joined to its letter
    return "".join(c if c.isascii() or _has(c) else f"U+{ord(c):04X} " for c in whole).strip()


@cache
def _has(character: str) -> bool:
    return character == "\n" or any(_font(name).get_char_index(ord(character)) for name in families())


@cache
def _font(name: str):  # type: ignore[no-untyped-def]
    return font_manager.get_font(font_manager.findfont(name))

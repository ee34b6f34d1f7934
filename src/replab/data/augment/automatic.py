"""The augmentation that suits the data, for `--augment auto`: shifts for all images, mirrors where the source allows.
`--augment strong` also hides a square of a quarter of the side. A model that multiplies the whole image at once is
spared the shifts.

A mirrored cat is a cat, and a mirrored 2 is no digit. A source says `mirror=True`; a folder of one's own says nothing,
and is shifted only.
"""

from __future__ import annotations

from replab.data.images import ImageSpec
from replab.data.source import source
from replab.settings.rules import AUTO, STRONG


def mirrors(data: str) -> bool | None:
    """Whether a mirrored image keeps its class; None where nobody said."""
    return bool(getattr(source.get(data), "mirror", False)) if data in source.names() else None


def suited(augment: tuple[str, ...], data: str, image: ImageSpec) -> tuple[str, ...]:
    """The words with `auto` or `strong` replaced. Shifts are by up to an eighth of the image."""
    if augment not in (AUTO, STRONG):
        return augment
    side = min(image.height, image.width)
    hidden = [f"cutout={side // 4}"] if augment == STRONG and side >= 4 else []
    return (*(["flip"] if mirrors(data) else []), *([f"crop={side // 8}"] if side >= 8 else []), *hidden)


def without_shifts(augment: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in augment if not word.startswith("crop="))

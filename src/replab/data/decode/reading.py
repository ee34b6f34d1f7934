"""How picture files are read: to which size, how they are fitted into it, and whether broken ones are skipped."""

from __future__ import annotations

from typing import NamedTuple


class Reading(NamedTuple):
    size: int | None = None  # side of the square each becomes; None: as they are
    fit: str = "crop"  # crop, pad or squish
    skip_broken: bool = False

    def __str__(self) -> str:
        """Part of the name of a cache entry: the same for what is read the same way."""
        fit = f", {self.fit}" if self.fit != "crop" else ""
        return f"size {self.size}{fit}{', broken skipped' if self.skip_broken else ''}"

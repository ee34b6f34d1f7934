"""Data sources by name: a function `read(*, size, seed) -> Dataset` under `@source`, in a file of sources/.

A file's docstring describes its source in one line: shape, counts, origin. It imports nothing slow at its top.
"""

from __future__ import annotations

from replab.registry import Kind

# called with size (None, or the side to resize to) and seed (for what the source draws); gives all images
source = Kind("data set", "replab.data.sources", "source", "replab datasets lists all; a path works too")

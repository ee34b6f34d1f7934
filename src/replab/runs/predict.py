"""Predictions for many image files: whole folders, batch by batch."""

from __future__ import annotations

import glob
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from replab.data.decode.layout import is_ignored
from replab.errors import DataError
from replab.runs.run import Prediction, Run

BATCH = 256
ENDINGS = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm"}


def image_files(words: Sequence[str]) -> list[str]:
    """The files that these names mean: files as they are, the images of folders, what a glob matches."""
    files: list[str] = []
    for word in words:
        path = Path(word)
        if path.is_dir():
            below = sorted(p for p in path.rglob("*") if p.suffix.lower() in ENDINGS and p.is_file())
            found = [str(p) for p in below if not is_ignored(p.relative_to(path).as_posix())]
            if not found:
                raise DataError(f"{word} has no image files; looked for {', '.join(sorted(ENDINGS))}")
        elif glob.has_magic(word) and not path.exists():
            found = sorted(glob.glob(word, recursive=True))
            if not found:
                raise DataError(f"no file matches {word}")
        else:
            found = [word]
        files += found
    return files


def predict_files(run: Run, files: Sequence[str], model: str | None = None) -> Iterator[tuple[str, Prediction]]:
    """Each file with its prediction, in order."""
    batches = [files[start : start + BATCH] for start in range(0, len(files), BATCH)]
    with ThreadPoolExecutor(1) as reader:  # reads the next files while the model is at work
        ahead = deque(reader.submit(run.pixels, some) for some in batches[:1])
        for some, then in zip(batches, [*batches[1:], None]):
            pixels = ahead.popleft().result()
            if then is not None:
                ahead.append(reader.submit(run.pixels, then))
            yield from zip(some, run.answers(pixels, model))

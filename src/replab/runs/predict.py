"""Predictions for many image files: whole folders, batch by batch."""

from __future__ import annotations

import glob
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from replab.data.decode.layout import is_ignored
from replab.errors import DataError
from replab.runs.predictor import Prediction, Predictor
from replab.runs.run import Run

PIECE = 128  # images at once
MOST = 8  # models side by side
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
    """Each file with its prediction, in order. Threads take turns to read some files and to ask a model of them."""
    pieces = [files[start : start + PIECE] for start in range(0, len(files), PIECE)]
    first = Predictor(run, model)
    if len(pieces) < 2:
        for piece in pieces:
            yield from zip(piece, first.answers(first.pixels(piece)))
        return
    import torch

    models, free = _models(first, len(pieces)), SimpleQueue[Predictor]()
    for one in models:
        free.put(one)

    def work(piece: Sequence[str]) -> list[Prediction]:
        pixels = first.pixels(piece)
        mine = free.get()
        try:
            return mine.answers(pixels)
        finally:
            free.put(mine)

    before = torch.get_num_threads()
    threads = 1 if len(models) > 1 else before  # of torch's own, per model
    pool = ThreadPoolExecutor(len(models) + 1, initializer=torch.set_num_threads, initargs=(threads,))
    try:
        ahead = deque(pool.submit(work, piece) for piece in pieces[: 2 * len(models) + 1])
        for place, piece in enumerate(pieces):
            answers = ahead.popleft().result()
            ahead.extend(pool.submit(work, then) for then in pieces[place + 2 * len(models) + 1 :][:1])
            yield from zip(piece, answers)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(before)  # what the pool's threads set is what new ones begin with


def _models(first: Predictor, pieces: int) -> list[Predictor]:
    """One per thread of torch's: several small batches side by side wait for nothing, the parts of one for each other.

    One alone on a GPU, by mytorch, which has global state, and where a user's model cannot be copied.
    """
    import torch

    experiment = first.experiment
    if experiment.backend.name != "torch" or experiment.device != "cpu" or first.recipe.compile:
        return [first]
    try:
        return [first.for_many() for _ in range(min(torch.get_num_threads(), MOST, pieces))]
    except Exception:
        return [first]

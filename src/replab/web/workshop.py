"""Trained models at work for the explore page: few are kept, one works at a time, and only code that may run is run."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from replab.data.decode.as_pixels import as_pixels
from replab.errors import DataError, RunError
from replab.records.record import Record
from replab.records.values import Values
from replab.report.page.pictures import overlaid, sprite
from replab.runs.run import Run
from replab.tasks.samples import some
from replab.web.explore import refusal

KEPT = 2  # models in memory
WAITING = 8  # requests that wait for their turn
CLASSES = 20  # probabilities that are sent
POINTS = 1000  # images of a t-SNE
POINT = 32  # pixels of their pictures
FARTHEST = 8.0  # of a latent number: beyond it nothing was ever drawn


class Busy(RunError):
    pass


class Workshop:
    """`trusted`: ids of runs whose own model file may be imported, as the user said when the page was started."""

    def __init__(self, trusted: frozenset[str] = frozenset()):
        self.trusted = trusted
        self._runs: OrderedDict[tuple[str, int], Run] = OrderedDict()
        self._points: OrderedDict[tuple[str, int], dict[str, Any]] = OrderedDict()
        self._turn, self._waiting = threading.Lock(), 0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One works, a few wait, more are sent away: nobody's crowd fills the memory."""
        if self._waiting >= WAITING:
            raise Busy("many images are waiting for the model; try again in a moment")
        self._waiting += 1
        try:
            with self._turn:
                yield
        finally:
            self._waiting -= 1

    def run(self, record: Record) -> Run:
        """The run with its model, loaded once. Call it in one's turn."""
        if fault := refusal(record, self.trusted):
            raise RunError(fault)
        key = (record.id, record.path("model.safetensors").stat().st_mtime_ns)
        if key not in self._runs:
            while len(self._runs) >= KEPT:
                self._runs.popitem(last=False)
            run = Run(record, trust=record.id in self.trusted)
            run.model()
            self._runs[key] = run
        self._runs.move_to_end(key)
        return self._runs[key]

    def predict(self, record: Record, image: bytes) -> dict[str, Any]:
        """What the model says of an image file: the same as `replab predict`."""
        with self.turn():
            run = self.run(record)
            said = run.predict(image)
            ranked = sorted(said.probabilities.items(), key=lambda pair: -pair[1])
            channels, height, width = (run.input[side] for side in ("channels", "height", "width"))
            pixels = as_pixels(image, channels, height, width, run.chosen.fit)
        return {"label": said.label, "probabilities": ranked[:CLASSES], "image": sprite(pixels[None])}

    def maps(self, record: Record, image: bytes) -> dict[str, Any]:
        """What the model looked at, map by map over the image, and how faithful each is."""
        from replab.explain import inside

        with self.turn():
            explained, _ = inside.of_run(self.run(record), image)
        items = []
        for name in explained.maps:
            deletion, insertion = explained.scores[name]
            items.append({"name": name, "text": f"in {insertion:.2f}, out {deletion:.2f}"})
        return {
            **sprite(np.stack([overlaid(explained.pixels, one) for one in explained.maps.values()])),
            "items": items,
        }

    def walk(self, record: Record, place: Any) -> dict[str, Any]:
        """An image of a generative model at `z`, or where a seed leads, and the place itself."""
        from replab.tasks import samples

        place = place if isinstance(place, dict) else {}
        with self.turn():
            run = self.run(record)
            network = run.model()
            if not samples.can_draw(network):
                raise RunError(f"run {record.id} is of {run.chosen.model}, which makes no images")
            z = latent(place, int(network.latent))
            labels = int(getattr(network, "labels", 0))
            label = place.get("label")
            if labels and not (isinstance(label, int) and 0 <= label < labels):
                label = 0
            y = np.array([label]) if labels else None
            pixels = samples.made(network, network.generate, z[None], y)
        return {"image": sprite(pixels), "z": [round(float(v), 4) for v in z], "labels": labels}

    def points(self, record: Record) -> dict[str, Any]:
        """Test images in two dimensions, each with its picture: kept, because t-SNE takes seconds."""
        with self.turn():
            key = (record.id, record.path("model.safetensors").stat().st_mtime_ns)
            if key not in self._points:
                while len(self._points) >= KEPT:
                    self._points.popitem(last=False)
                self.run(record)  # refuses what may not run
                self._points[key] = embedded(Run(record, trust=record.id in self.trusted))
            return self._points[key]


def latent(place: dict[str, Any], size: int) -> np.ndarray:
    """The point (size,) that is asked for: numbers, or the first draw of `replab generate --seed`."""
    given = place.get("z")
    if given is None:
        seed = place.get("seed", 0)
        seed = seed if isinstance(seed, int) and 0 <= seed < 2**32 else 0
        return np.random.default_rng(seed).standard_normal((1, size), dtype=np.float32)[0]
    numbers = isinstance(given, list) and all(isinstance(v, (int, float)) and abs(v) <= FARTHEST for v in given)
    if not numbers or len(given) != size:
        raise RunError(f"a point has {size} numbers from {-FARTHEST:g} to {FARTHEST:g}")
    return np.array(given, np.float32)


def embedded(run: Run) -> dict[str, Any]:
    """(x, y, class, answer, number, place of its picture or -1) of each image, and a sprite of the pictures."""
    from replab.data.decode.pictures import resized
    from replab.tasks.tsne import two_dimensions

    values, notes = Values(run.record), list[str]()
    if "embedding" in values.arrays:  # an autoencoder's run keeps its own
        points, which = values.arrays["embedding"][:POINTS], values.arrays["embedding_index"][:POINTS]
        what, (pictured, pixels) = "the means of the encoder", pictures(run, values, which)
        if len(pictured) < len(which):
            notes.append(f"The data is not there: {len(pictured)} images, which the run kept, have their pictures.")
    else:
        from replab.explain.embedding import penultimate

        seen = penultimate(run, POINTS, notice=notes.append)
        points, what = two_dimensions(seen.rows, run.chosen.seed), "what the head is given"
        which = pictured = seen.index
        pixels = seen.pixels
    if max(pixels.shape[2:]) > POINT:
        pixels = resized(pixels, POINT)
    answers, arrays = values.answers, values.arrays
    labels = arrays["labels"][which] if "labels" in arrays else np.zeros(len(which), int)
    said = answers.predicted[which] if answers is not None else labels
    place = {int(number): i for i, number in enumerate(pictured)}
    return {
        "what": what,
        "note": " ".join(notes),
        "points": [
            (round(float(x), 3), round(float(y), 3), int(label), int(answer), int(number), place.get(int(number), -1))
            for (x, y), label, answer, number in zip(points, labels, said, which)
        ],
        "images": sprite(np.asarray(pixels)),
        "classes": {int(c): values.classes[c][:80] for c in np.unique(np.concatenate([labels, said]))}
        if values.classes
        else {},
    }


def pictures(run: Run, values: Values, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(numbers, pixels) of these test images; where the data is gone, of those among them that the run kept."""
    try:
        return which, np.asarray(run.reopened().data.test.pixels[which])
    except DataError:
        from replab.tasks.reconstruct import Reconstruct

        pixels = values.arrays["originals"]
        return some(int(values.input["test_images"]), len(pixels), Reconstruct.seed), pixels

"""Run: a run folder as an object, for notebooks. `run.metrics`, `run.figures`, `run.predict(image)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from replab.data.normalise import spell
from replab.errors import ReplabError, RunError, UnknownName
from replab.records.record import Record
from replab.records.text import table
from replab.records.values import Values
from replab.runs.predictor import Predictor
from replab.settings.recipe import Recipe

LISTED = 40  # names of an error message


class Picture:
    """A figure on disk that a notebook shows as a picture."""

    def __init__(self, path: Path):
        self.path = path

    def _repr_png_(self) -> bytes:
        return self.path.read_bytes()

    def __repr__(self) -> str:
        return f"Picture({str(self.path)!r})"


class Pictures(dict[str, Picture]):
    """Figures by name; shown all together when they end a notebook cell."""

    def _repr_html_(self) -> str:
        import base64
        import html

        shown = {html.escape(name): base64.b64encode(p._repr_png_()).decode() for name, p in self.items()}
        return "".join(f'<img alt="{name}" src="data:image/png;base64,{data}"><br>' for name, data in shown.items())


class Run:
    """What was asked, what was found and the trained model. The properties read the folder as it is now."""

    def __init__(
        self,
        record: Record,
        ready: Any = None,
        *,
        model: Any = None,
        trust: Any = False,
        parts: Mapping[str, Any] | None = None,
    ):
        self.record, self._named, self._trust, self._parts = record, model, trust, parts
        self.values = Values(record)  # each file read once: for comparisons of many runs
        self._ready = ready
        self._model: Any = None
        self._without_images: Any = None

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def folder(self) -> Path:
        return self.record.folder

    @property
    def finished(self) -> bool:
        return self.record.has("metrics.json") and self.record.has("facts.json")

    @property
    def recipe(self) -> Recipe:
        return self.record.recipe()

    @property
    def chosen(self) -> Recipe:
        """The recipe with what the search found."""
        return self.record.chosen()

    @property
    def metrics(self) -> dict[str, float]:
        return dict(self.record.read_json("metrics.json", {}))

    @property
    def facts(self) -> dict[str, Any]:
        """Parameters, MACs, memory, speed, structure."""
        return dict(self.record.read_json("facts.json", {}))

    @property
    def input(self) -> dict[str, Any]:
        """Data name, image shape, classes, normalisation."""
        return dict(self.record.read_json("input.json", {}))

    @property
    def epochs(self) -> list[dict[str, float]]:
        return self.record.read_lines("epochs.jsonl")

    @property
    def trials(self) -> list[dict[str, Any]]:
        return [t.to_dict() for t in self.record.trials()]

    @property
    def predictions(self) -> dict[str, np.ndarray]:
        return self.record.predictions()

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds by stage."""
        return Values(self.record).seconds

    @property
    def figures(self) -> Pictures:
        return Pictures({p.stem: Picture(p) for p in sorted((self.folder / "figures").glob("*.png"))})

    @property
    def report(self) -> str:
        """The report as Markdown."""
        return self.record.read_text("report.md")

    def model(self, model: Any = None) -> Any:
        """The trained model, in eval mode. `model`: the file or function, when the run's own moved or was live."""
        if self._model is None:
            self._model = self.restored(model).trained(self.record, self.chosen)
        return self._model

    def restored(self, model: Any = None) -> Any:
        """The experiment it was made with, without its images: the folder alone is enough to use the model."""
        if self._ready is not None:
            return self._ready
        if self._without_images is None:
            from replab.training.prepare import restore

            self._without_images = restore(self.record, model or self._named, self._trust)
        return self._without_images

    def reopened(self, model: Any = None) -> Any:
        """The experiment it was made with, its images loaded again."""
        if self._ready is None:
            from replab.training.prepare import reopen

            self._ready = reopen(self.record, model or self._named, self._trust, parts=self._parts)
        return self._ready

    def normalised(self) -> Recipe:
        """The recipe with the numbers that the training images were normalised by, for other images."""
        return self.chosen.replace(normalise=spell(self.input["mean"], self.input["std"]))

    def generate(self, n: int = 64, label: str | None = None, seed: int = 0, model: Any = None) -> np.ndarray:
        """n new images, uint8 (n, C, H, W); the same seed draws the same ones. `label`: a class's name."""
        from replab.tasks import samples

        network = self.model(model)
        if not samples.can_draw(network):
            what = self.chosen.model + "".join(f" {k}={v}" for k, v in self.chosen.params.items() if v is False)
            raise RunError(f"run {self.id} is of {what}, which makes no images; replab run vae makes one")
        if n < 1:
            raise RunError(f"n must be at least 1, got {n}; 64 is the default")
        if label is None:
            return samples.draw(network, n, seed)
        if not getattr(network, "labels", 0):
            raise RunError(f"{self.chosen.model} is not told classes, got {label!r}; cvae and acgan are")
        classes = self.input["classes"]
        if label not in classes:
            more = f" and {len(classes) - LISTED:,} more" if len(classes) > LISTED else ""
            raise UnknownName("class", label, classes, f"known: {', '.join(classes[:LISTED])}{more}")
        return samples.draw(network, n, seed, classes.index(label))

    def predict(self, images: Any, model: Any = None) -> Any:
        """A Prediction for an image (a path, a PIL picture or an array), or a list of them for a list."""
        many = isinstance(images, (list, tuple))
        predictor = Predictor(self, model)
        predictions = predictor.answers(predictor.pixels(images if many else [images]))
        return predictions if many else predictions[0]

    def __repr__(self) -> str:
        state = ", ".join(f"{k} {v:.4g}" for k, v in self.metrics.items()) or "unfinished"
        return f"Run({self.id}: {state})"

    def _repr_markdown_(self) -> str:
        from replab.runs.facts import facts

        return table(("", ""), facts(Values(self.record)))


def finished_runs(folder: Path, say: Callable[[str], None] = lambda line: None) -> list[Run]:
    """Every finished run in a folder of runs that can be read; `say` is told of those that cannot be."""
    readable = []
    for run in map(Run, Record.all(folder)):
        try:
            values = run.values
            if run.finished and all((values.metrics, values.facts, values.input, values.chosen, values.recipe)):
                readable.append(run)
        except ReplabError as error:
            say(f"left out: {error}")
    return readable

"""What all trials of a search share, as it is here and as it is sent to a worker: plain values and files of images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from replab import tasks
from replab.backends import backend as backends
from replab.backends import own_parts
from replab.backends.backend import threads
from replab.data.images import Dataset, Images
from replab.data.mapped import BLOCK, new_file
from replab.errors import ModelError
from replab.models import loader
from replab.models.pretrained import backbones, weights
from replab.models.trust import digest
from replab.records.events import Events
from replab.records.trial import Trial
from replab.search.one_trial import Trials
from replab.settings.recipe import Recipe
from replab.training.experiment import Experiment, prefers_channels_last
from replab.training.features import Frozen, Head
from replab.training.loop import Row

PARTS = ("train", "validation")
CODE = "code-{}.py"  # texts of users' files


@dataclass(frozen=True, eq=False)
class Work:
    learner: Experiment
    train: Images
    validation: Images

    @property
    def device(self) -> str:
        return self.learner.device

    @property
    def threads(self) -> int:
        """Of each trial, the same wherever it runs."""
        return self.learner.recipe.search.threads or int(self.learner.backend.lib.get_num_threads())

    def rows(self, recipe: Recipe, events: Events) -> Iterator[Row]:
        """One trial's epochs."""
        model = self.learner.model(recipe)
        for row, _ in self.learner.fit(model, recipe, train=self.train, watch={"val": self.validation}, events=events):
            yield row

    def do(self, job: Mapping[str, Any], events: Events) -> dict[str, Any]:
        with threads(self.learner.backend, self.threads):
            return Trials(self.learner.recipe, self.rows).do(job, events)

    def result(self, values: dict[str, Any]) -> Trial:
        return Trial(**values)

    def describe(self, folder: Path) -> dict[str, Any]:
        """All of it as plain values; the images as files of the folder, which workers map into memory."""
        learner, source = self.learner, self.learner.source
        last = prefers_channels_last(learner.model(learner.recipe))
        for name, images in zip(PARTS, (self.train, self.validation)):
            _write_pixels(folder / f"{name}.npy", images.pixels, last)
            if images.labels is not None:
                np.save(folder / f"{name}-labels.npy", images.labels)
        code = [part for part in (source, *learner.own.values()) if part.path is not None]
        for number, part in enumerate(code):  # for a node of a cluster that does not have these files
            (folder / CODE.format(number)).write_text(part.text or "", encoding="utf-8")
        return {
            "made_by": "replab.search.work:received",
            "recipe": learner.recipe.to_toml(),
            "model": source.place,
            "code": {part.place: part.sha256 for part in code},
            "parts": {name: part.place for name, part in learner.own.items()},
            "weights_sha256": None if learner.initial is None else learner.initial.sha256,
            "device": learner.device,
            "channels_last": learner.channels_last,
            "threads": self.threads,
            "folder": str(folder),
            "channels_innermost": last,
            "data": learner.data.name,
            "fingerprint": learner.data.fingerprint,
            "classes": list(self.train.classes),
            "mean": list(self.train.mean),
            "std": list(self.train.std),
        }


def obstacle(experiment: Experiment) -> str:
    """Why its trials cannot be sent to workers; empty where they can."""
    if live := session_code(experiment):
        return f"{live} is code of this session; put it into a file and name it FILE.py:FUNCTION"
    if isinstance(experiment, (Frozen, Head)):
        return "the head of a frozen backbone is searched on features, in this process"
    return ""


def session_code(experiment: Experiment) -> str:
    """The first of its parts that is in no file; empty where there is none."""
    parts = (experiment.source, *experiment.own.values())
    return next((part.name for part in parts if part.path is None and part.text is not None), "")


def received(sent: Mapping[str, Any]) -> Work:
    """The work as the coordinator has it. Code is imported only if it is the text that the coordinator imported."""
    recipe = Recipe.from_toml(sent["recipe"])
    backend = backends.get(recipe.backend, recipe.precision)
    backend.lib.set_num_threads(sent["threads"])
    here = _code(sent)
    source = loader.find(here.get(sent["model"], sent["model"]), backend)
    own = own_parts.load(recipe, backend, {name: here.get(place, place) for name, place in sent["parts"].items()})
    train, validation = (_images(sent, part) for part in PARTS)
    task = tasks.make(recipe, train.spec, backend.lib, source.function, own)
    initial = None
    if recipe.pretrained or recipe.weights:
        initial = weights.read(recipe.weights or backbones.fetched(source.name, sent["weights_sha256"]))
        if initial.sha256 != sent["weights_sha256"]:
            raise ModelError(f"{initial.origin} is not the file that the search began with; start a new run")
    data = Dataset(sent["data"], train, validation, sent["fingerprint"])
    learner = Experiment(
        recipe, data, source, backend, sent["device"], task, channels_last=sent["channels_last"], initial=initial,
        own=own,
    )  # fmt: skip
    return Work(learner, train, validation)


def _write_pixels(path: Path, pixels: Any, innermost: bool) -> None:
    """As batches want them, so that workers make no copies; in blocks, because a set may be larger than memory."""
    n, *image = pixels.shape
    shape = (n, *image[1:], image[0]) if innermost else (n, *image)
    target = new_file(path, pixels.dtype, shape)
    for start in range(0, n, BLOCK):
        block = pixels[start : start + BLOCK]
        target[start : start + BLOCK] = block.transpose(0, 2, 3, 1) if innermost else block
    target.flush()  # type: ignore[attr-defined]


def _code(sent: Mapping[str, Any]) -> dict[str, str]:
    """FILE.py:FUNCTION of the coordinator → of the same text here: where it was, or what was sent along."""
    found = {}
    for number, (place, mark) in enumerate(sent["code"].items()):
        file, _, name = place.rpartition(":")
        for path in (Path(file), Path(sent["folder"]) / CODE.format(number)):
            if path.is_file() and digest(path.read_text(encoding="utf-8")) == mark:
                found[place] = f"{path}:{name}"
                break
        else:
            raise ModelError(f"{file} is not the file that the search began with; replab resume uses the run's copy")
    return found


def _images(sent: Mapping[str, Any], part: str) -> Images:
    """Mapped, so that all workers share one copy; torch wants arrays that could be written to, which `c` looks like."""
    folder = Path(sent["folder"])
    labels = folder / f"{part}-labels.npy"
    pixels = np.load(folder / f"{part}.npy", mmap_mode="c")
    return Images(
        pixels.transpose(0, 3, 1, 2) if sent["channels_innermost"] else pixels,
        np.load(labels) if labels.is_file() else None,
        tuple(sent["classes"]),
        tuple(sent["mean"]),
        tuple(sent["std"]),
    )

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
from replab.data.images import Dataset, Images
from replab.data.mapped import BLOCK
from replab.errors import ModelError
from replab.models import loader
from replab.models.pretrained import backbones, weights
from replab.models.trust import digest
from replab.records.events import Events
from replab.settings.recipe import Recipe
from replab.training.experiment import Experiment, prefers_channels_last
from replab.training.features import Frozen, Head
from replab.training.loop import Row

PARTS = ("train", "validation")


@dataclass(frozen=True, eq=False)
class Work:
    learner: Experiment
    train: Images
    validation: Images

    @property
    def threads(self) -> int:
        """Of each trial, the same wherever it runs."""
        return self.learner.recipe.search.threads or int(self.learner.backend.lib.get_num_threads())

    def rows(self, recipe: Recipe, events: Events) -> Iterator[Row]:
        """One trial's epochs."""
        model = self.learner.model(recipe)
        for row, _ in self.learner.fit(model, recipe, train=self.train, watch={"val": self.validation}, events=events):
            yield row

    def describe(self, folder: Path) -> dict[str, Any]:
        """All of it as plain values; the images as files of the folder, which workers map into memory."""
        learner, source = self.learner, self.learner.source
        last = prefers_channels_last(learner.model(learner.recipe))
        for name, images in zip(PARTS, (self.train, self.validation)):
            _write_pixels(folder / f"{name}.npy", images.pixels, last)
            if images.labels is not None:
                np.save(folder / f"{name}-labels.npy", images.labels)
        return {
            "recipe": learner.recipe.to_toml(),
            "model": source.place,
            "code": {part.place: part.sha256 for part in (source, *learner.own.values()) if part.path is not None},
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
    for place, mark in sent["code"].items():
        path = Path(place.rpartition(":")[0])
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if digest(text) != mark:
            raise ModelError(f"{path} is not the file that the search began with; replab resume uses the run's copy")
    source = loader.find(sent["model"], backend)
    own = own_parts.load(recipe, backend, sent["parts"])
    train, validation = (_images(sent, part) for part in PARTS)
    task = tasks.make(recipe, train.spec, backend.lib, source.function, own)
    initial = None
    if recipe.pretrained or recipe.weights:
        initial = weights.read(recipe.weights or backbones.fetched(source.name))
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
    target = np.lib.format.open_memmap(path, mode="w+", dtype=pixels.dtype, shape=shape)
    for start in range(0, n, BLOCK):
        block = pixels[start : start + BLOCK]
        target[start : start + BLOCK] = block.transpose(0, 2, 3, 1) if innermost else block
    target.flush()


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

"""A look at a registered model or data set: layers and counts, classes and images. Only names that are listed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from replab.data.source import source
from replab.models.registry import MODELS
from replab.report.page.diagram import diagram
from replab.report.page.pictures import sprite
from replab.settings.recipe import Recipe

SHAPES = ("mnist", "cifar10")  # images that models are built for here; the first that a model takes
RANDOM = 48  # images of a look at data
COPIES = 12  # images that come more than once
SIDE = 64  # pixels: larger ones are shown smaller


@lru_cache(maxsize=64)
def model(name: str) -> dict[str, Any]:
    """Parameters, MACs and layers of a registered model, built on random images of a known shape."""
    from replab.data.load import stand_in
    from replab.errors import ModelError
    from replab.explain.structure.trace import trace
    from replab.training.prepare import prepare

    MODELS.check(name)
    fault = ""
    for shape in SHAPES:
        try:
            experiment = prepare(Recipe(model=name, data=shape, device="cpu"), data=stand_in(shape))
        except ModelError as error:
            fault = fault or str(error)
            continue
        network, spec = experiment.spare_model(), experiment.data.spec
        traced = trace(network, spec)
        layers = [vars(layer) for layer in traced.layers]
        return {
            "for": f"{spec.channels}x{spec.height}x{spec.width}, {len(experiment.data.train.classes)} classes",
            "parameters": sum(p.numel() for p in network.parameters()),
            "macs": traced.macs,
            "diagram": diagram(layers, (spec.channels, spec.height, spec.width)),
        }
    raise ModelError(fault)


@lru_cache(maxsize=8)
def data(name: str) -> dict[str, Any]:
    """Sizes, balance, random images with their classes, and images that come more than once."""
    from replab.data import inspect
    from replab.data.load import load

    source.check(name)
    images = load(name)
    seen = inspect.look(images)
    pixels, names = inspect.sample(images.train, RANDOM, 0)
    again = inspect.copies(images.train, COPIES)
    return {
        "lines": [line for line in seen.lines() if line[0] != "data"],
        "counts": [(label, *both) for label, both in seen.counts.items()][:1000],
        "images": sprite(small(pixels)),
        "names": names,
        "copies": {"images": sprite(small(images.train.pixels[again])), "numbers": [int(i) for i in again]}
        if len(again)
        else None,
    }


def small(pixels: np.ndarray) -> np.ndarray:
    from replab.data.decode.pictures import resized

    return resized(pixels, SIDE) if max(pixels.shape[2:]) > SIDE else np.asarray(pixels)

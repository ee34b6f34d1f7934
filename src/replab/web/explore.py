"""What the explore page offers for a run, from its folder alone: nothing is imported because somebody looked."""

from __future__ import annotations

from typing import Any

import numpy as np

from replab.models.registry import MODELS
from replab.records.record import Record
from replab.records.values import Values
from replab.report.page.pictures import sprite
from replab.settings.recipe import all_settings, value_of

FEW = 24  # test images to choose from


def shown(record: Record, trusted: frozenset[str]) -> dict[str, Any]:
    """What the explore page offers for a run, from its folder alone: no model is loaded because somebody looked."""
    values = Values(record)
    fault = refusal(record, trusted)
    if fault:
        return {"fault": fault, "trust": brings_code(record), "data": {}, "offers": {}}
    torch_ = values.chosen.backend == "torch"
    arrays = values.arrays
    kind = values.task == "classify"
    offers = {
        "predict": bool(values.classes) and (kind or "logits" in arrays),
        "maps": kind and torch_,
        "walk": "samples" in arrays,
        "points": "embedding" in arrays or (kind and torch_),
    }
    data: dict[str, Any] = {"offers": offers, "classes": [name[:80] for name in values.classes[:1000]]}
    data["size"] = [values.input["height"], values.input["width"]]
    if offers["predict"]:
        data |= drawing(values)
    if offers["walk"]:
        spread = arrays["mean"].std(0) if "mean" in arrays else None
        data["order"] = None if spread is None else [int(i) for i in np.argsort(-spread)]
    return {"fault": "", "trust": False, "data": data, "offers": offers}


def drawing(values: Values) -> dict[str, Any]:
    """How to draw as the test images are drawn: ink on paper, how large; and some of them to choose from."""
    kept, size = values.examples, (values.input["height"], values.input["width"])
    if kept is None or not len(kept.index):
        return {"ink": 255, "paper": 0, "share": None, "few": None}
    edge = np.concatenate([kept.pixels[:, :, 0].ravel(), kept.pixels[:, :, -1].ravel()])
    paper = 0 if np.median(edge) < 128 else 255
    share = None
    if kept.pixels.shape[1] == 1:
        inked = np.abs(kept.pixels[:, 0].astype(int) - paper) > 64  # (N, H, W)
        tall, wide = (inked.any(axis).sum(1) for axis in (2, 1))
        share = round(float(np.median(np.maximum(tall / inked.shape[1], wide / inked.shape[2]))), 3)
    few = None
    if kept.pixels.shape[2:] == size:
        index = kept.index[:: max(1, len(kept.index) // FEW)][:FEW]
        places = np.searchsorted(kept.index, index)
        few = {"images": sprite(kept.pixels[places]), "numbers": [int(i) for i in index]}
        few["names"] = [values.classes[values.arrays["labels"][i]][:80] for i in index]
    return {"ink": 255 - paper, "paper": paper, "share": share, "few": few}


def refusal(record: Record, trusted: frozenset[str]) -> str:
    """Why a run's model is not used here; "" where it is. Reads the recipe; imports nothing."""
    if not record.has("model.safetensors") or not record.has("input.json"):
        return f"run {record.id} has no trained model yet; replab resume {record.id} finishes it"
    model = record.recipe().model
    if model.startswith("python:"):
        return f"{model} was a function in a Python session: replab.load_run({record.id!r}).model(build) takes it again"
    if record.id not in trusted and brings_code(record):
        return (
            f"run {record.id} was made with a file of a user's own, {model}, which is not run because somebody looked"
        )
    return ""


def brings_code(record: Record) -> bool:
    """Whether anything but a registered model stands in the run's recipe."""
    recipe = record.recipe()
    library = recipe.model == "vit-b16" or recipe.model.startswith("torchvision:")
    texts = [value_of(recipe, s) for s in all_settings() if s.key != "data"]
    files = any(isinstance(text, str) and (".py:" in text or text.endswith(".py")) for text in texts)
    return files or not (library or recipe.model in MODELS.names())

"""Checks that need the images or the model: made while a run is carried out, noted in its folder for the audit."""

from __future__ import annotations

from typing import Any

import numpy as np

from replab.data.inspect import shared_images
from replab.training.evaluate import evaluate


def check_inputs(setup: Any) -> dict[str, Any]:
    """What only the images can tell, noted when a run begins."""
    train, test = setup.data.train, setup.data.test
    few, tested = (images.take(2000, seed=0).pixels for images in (train, test))  # the first may be of one class
    return {
        "shared_images": shared_images(train, test),
        "train_pixel_mean": float(few.mean()),
        "test_pixel_mean": float(tested.mean()),
        "train_pixel_std": float(few.std()),
    }


def unsteadiness(model: Any, setup: Any, batches: Any, first: np.ndarray) -> float:
    """The largest change of an output when the images come in batches of 16: rounding alone, in eval mode."""
    again = evaluate(model, setup.task, batches, setup.backend, setup.device).outputs["logits"]
    return float(np.abs(again - first[: len(again)]).max() / max(1e-6, float(np.abs(first).max())))

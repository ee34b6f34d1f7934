"""What the tasks that give images back share: the shape they must have, and the means of their losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from replab.errors import ModelError


def check_images(name: str, output: Any, batch: Any) -> None:
    """Refuse a model that does not give images back as it got them."""
    shape, wanted = tuple(getattr(output, "shape", ())), tuple(batch.x.shape)
    if shape != wanted:
        raise ModelError(f"{name} must give images of shape {wanted} back, got {shape or type(output).__name__}")


def means(outputs: dict[str, np.ndarray], names: tuple[str, ...]) -> dict[str, float]:
    """The mean over the images of the loss, with its standard error, and of each named term."""
    losses = outputs["loss"].astype(np.float64)
    averages = {"loss": float(losses.mean()), "loss_se": float(losses.std() / np.sqrt(len(losses)))}
    return averages | {name: float(outputs[name].mean(dtype=np.float64)) for name in names}

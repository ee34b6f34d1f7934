"""Progressive resizing: smaller training images at first, which cost less, whole ones at the end.

The side grows evenly from epoch to epoch and is whole for the last third of the epochs. It depends on the epoch alone,
so a resumed training sees the same images.
"""

from __future__ import annotations

from typing import Any

from replab.settings.recipe import Recipe


def side(whole: int, start: float, epoch: int, epochs: int) -> int:
    """Pixels of a side in this epoch: an even number, at most the whole."""
    if epoch >= epochs:
        return whole
    share = start + (1 - start) * min(1.0, 1.5 * (epoch - 1) / epochs)
    return min(whole, max(2, 2 * round(share * whole / 2)))


def resized(batch: Any, recipe: Recipe, epoch: int) -> Any:
    """The batch with its images as large as this epoch wants them; as it is where nothing is to be done."""
    if recipe.progressive_resize is None:
        return batch
    assert recipe.epochs is not None
    sides = tuple(side(whole, recipe.progressive_resize, epoch, recipe.epochs) for whole in batch.x.shape[2:])
    if sides == tuple(batch.x.shape[2:]):
        return batch
    import torch

    last = batch.x.is_contiguous(memory_format=torch.channels_last)
    x = torch.nn.functional.interpolate(batch.x, sides, mode="bilinear", antialias=True)
    return batch._replace(x=x.contiguous(memory_format=torch.channels_last) if last else x)

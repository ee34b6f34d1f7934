"""The numbers of an epoch or a trial in a few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SPLITS = {"test": "test", "val": "validation", "train": "train"}  # whose numbers stand for a model, the best first


def headline(row: Mapping[str, float], width: int) -> str:
    """Loss and accuracy of an epoch, in as many words as the line has room for."""
    split = next((name for name in SPLITS if f"{name}_loss" in row), None)
    if split is None:
        return ", ".join(f"{name.replace('_', ' ')} {text}" for name, text in list(shown(row).items())[:2])
    loss, accuracy = f"loss {row[f'{split}_loss']:.4g}", row.get(f"{split}_accuracy")
    share = "" if accuracy is None else f"{100 * accuracy:.2f} %"
    if width < 72:
        return ", ".join(filter(None, (loss, share)))
    if width < 100 or split == "train":
        return loss + (f", accuracy {share}" if share else "")
    name, train = SPLITS[split], row.get("train_loss")
    before = "" if train is None else f"train loss {train:.4g}, "
    return f"{before}{name} {loss}" + (f", {name} accuracy {share}" if share else "")


def spelled(params: Mapping[str, Any]) -> str:
    """lr 0.00123, hidden 64"""
    return ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v or 'none'}" for k, v in params.items())


def shown(row: Mapping[str, float]) -> dict[str, str]:
    """The losses and accuracies of an epoch, as they are shown."""
    return {k: f"{v:.4g}" for k, v in row.items() if k.endswith(("_loss", "_accuracy"))}

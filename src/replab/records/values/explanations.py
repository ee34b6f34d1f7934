"""Explanations of answers as plain arrays: a run keeps a few explained images in explanations.npz."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from replab.errors import RunError
from replab.records.record import Record

FILE = "explanations.npz"


@dataclass(frozen=True, eq=False)
class Explanation:
    pixels: np.ndarray  # (C, H, W) uint8
    target: int  # the class that the maps are about: the model's answer
    probability: float
    maps: dict[str, np.ndarray]  # name → (H, W)
    scores: dict[str, tuple[float, float]]  # name → (deletion, insertion); "random" among them
    attention: np.ndarray | None = None  # (layers, heads, rows, columns) of the CLS token
    label: int = -1  # the true class, where it is known

    def best(self) -> str:
        """The map whose insertion exceeds its deletion most."""
        return max(self.maps, key=lambda name: self.scores[name][1] - self.scores[name][0])


def write(record: Record, index: Sequence[int], explained: Sequence[Explanation]) -> None:
    """Explanations of the test images with these numbers."""
    arrays: dict[str, np.ndarray] = {"index": np.array(index, int)}
    for i, one in enumerate(explained):
        arrays |= {
            f"{i}/pixels": one.pixels,
            f"{i}/facts": np.array((one.target, one.label, one.probability)),
        }
        arrays |= {f"{i}/map/{name}": each.astype(np.float32) for name, each in one.maps.items()}
        arrays |= {f"{i}/score/{name}": np.array(score) for name, score in one.scores.items()}
        if one.attention is not None:
            arrays[f"{i}/attention"] = one.attention
    record.write_predictions(arrays, FILE)


def read(record: Record) -> list[Explanation]:
    """Those that a run kept; none where it has no such file."""
    if not record.has(FILE):
        return []
    arrays, explained = record.predictions(FILE), []
    try:
        for i in range(len(arrays["index"])):
            maps = {k.removeprefix(f"{i}/map/"): v for k, v in arrays.items() if k.startswith(f"{i}/map/")}
            scores = {
                k.removeprefix(f"{i}/score/"): (float(v[0]), float(v[1]))
                for k, v in arrays.items()
                if k.startswith(f"{i}/score/")
            }
            target, label, share = (float(number) for number in arrays[f"{i}/facts"])
            attention = arrays.get(f"{i}/attention")
            explained.append(
                Explanation(arrays[f"{i}/pixels"], int(target), share, maps, scores, attention, int(label))
            )
    except (KeyError, ValueError, IndexError, TypeError) as error:
        raise RunError(f"run {record.id}: {FILE} is not replab's ({error})") from None
    return explained

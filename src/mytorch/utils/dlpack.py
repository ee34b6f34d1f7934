"""torch.utils.dlpack: arrays handed over between libraries without a copy, by NumPy's own DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np

from mytorch.creation import from_numpy
from mytorch.tensor import Tensor


class _Handed:
    """A capsule, as to_dlpack() gives it, in the form NumPy takes: memory of the CPU."""

    def __init__(self, capsule: Any):
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of anything that has __dlpack__: arrays, torch's tensors, JAX's."""
    array = np.from_dlpack(ext_tensor if hasattr(ext_tensor, "__dlpack__") else _Handed(ext_tensor))
    return from_numpy(array.copy() if copy or not array.flags.writeable else array)


def to_dlpack(tensor: Tensor) -> Any:
    return tensor.__dlpack__()

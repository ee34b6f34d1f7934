"""torch.utils.dlpack: arrays handed over between libraries without a copy, by NumPy's own DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np

from mytorch.creation import from_numpy
from mytorch.tensor import Tensor


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of anything that has __dlpack__: arrays, torch's tensors, JAX's."""
    array = np.from_dlpack(ext_tensor)
    return from_numpy(array.copy() if copy or not array.flags.writeable else array)


def to_dlpack(tensor: Tensor) -> Any:
    return tensor.__dlpack__()

"""Parameter: a Tensor that a Module finds by itself and that requires a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from mytorch.dtypes import default
from mytorch.tensor import Tensor


class Parameter(Tensor):
    """Shares the memory of the tensor it is made from."""

    def __init__(self, data: Any = None, requires_grad: bool = True):
        if data is None:
            data = Tensor(np.empty(0, default()))
        if requires_grad and data._array.dtype.kind not in "fc":
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        super().__init__(data._array, requires_grad=requires_grad)
        self._version = data._version

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


class Buffer(Tensor):
    """Assigned to a module, it becomes one of its buffers, saved with it if persistent."""

    def __init__(self, data: Any = None, *, persistent: bool = True):
        super().__init__(np.empty(0, default()) if data is None else data._array)
        self.persistent = persistent

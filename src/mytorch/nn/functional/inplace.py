"""inplace=True: the input takes over the result's values and history."""

from __future__ import annotations

from mytorch.autograd import replace_history
from mytorch.ops.inplace import recorded, write
from mytorch.tensor import Tensor


def overwrite(input: Tensor, result: Tensor) -> Tensor:
    keeps = recorded(input, result)  # raises on leaves that require a gradient
    write(input, result._array)
    if keeps:
        replace_history(input, result)
    return input

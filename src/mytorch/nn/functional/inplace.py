"""inplace=True: the input takes over the result's values and history."""

from __future__ import annotations

from mytorch.autograd import is_grad_enabled
from mytorch.tensor import Tensor


def overwrite(input: Tensor, result: Tensor) -> Tensor:
    if input._node is None and input.requires_grad and is_grad_enabled():
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    input._array[...] = result._array
    input._version[0] += 1
    input._node, input.requires_grad = result._node, result.requires_grad
    return input

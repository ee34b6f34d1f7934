"""copy.deepcopy and pickling of tensors: values and flags, never history."""

from __future__ import annotations

import numpy as np

from .naming import attach
from .tensor import Tensor


def deepcopy(self: Tensor, memo: dict) -> Tensor:
    if self._node is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment."
        )
    if id(self) in memo:
        return memo[id(self)]
    out = rebuild(type(self), self._array.copy(), self.requires_grad)
    memo[id(self)] = out
    if self.grad is not None:
        out.grad = deepcopy(self.grad, memo)
    if hasattr(self, "__dict__"):  # a subclass may hold more
        out.__dict__.update(self.__dict__)
    return out


def rebuild(kind: type[Tensor] | None, array: np.ndarray, requires_grad: bool) -> Tensor:
    kind = Tensor if kind is None else kind
    out = kind.__new__(kind)
    Tensor.__init__(out, array, requires_grad=requires_grad)
    return out


def reduce(self: Tensor) -> tuple:
    """A plain tensor is pickled without its class: under the name `torch.Tensor`, real torch would be imported."""
    return rebuild, (None if type(self) is Tensor else type(self), self._array, self.requires_grad)


attach(__deepcopy__=deepcopy, __reduce__=reduce)

"""Parameter: a Tensor that a Module finds by itself and that requires a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from mytorch.dtypes import default, to_numpy
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

    def __deepcopy__(self, memo: dict) -> Parameter:
        """Without the gradient, as in torch; a plain tensor's is copied."""
        out: Parameter = super().__deepcopy__(memo)  # type: ignore[misc]
        out.grad = None
        return out


class Uninitialized:
    """Mixed into the tensors of lazy layers, whose shape is not known yet. A tensor stays the same object when it gets
    one, so an optimiser may hold it already."""

    __slots__ = ()  # a tensor can become one of another class where neither adds to it
    cls_to_become: type

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer: call the module once (or load a state "
            "dict into it) before."
        )

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        kind = self._array.dtype if dtype is None else to_numpy(dtype)
        self._array = np.empty(tuple(shape), kind)
        self.__class__ = self.cls_to_become

    def detach(self) -> Any:
        """Itself, so that a state dict says that there is no value yet."""
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(Uninitialized, Parameter):
    cls_to_become = Parameter

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None):
        Parameter.__init__(self, Tensor(np.empty(0, default() if dtype is None else to_numpy(dtype))), requires_grad)


class UninitializedBuffer(Uninitialized, Tensor):
    __slots__ = ()
    cls_to_become = Tensor

    def __init__(self, requires_grad: bool = False, device: Any = None, dtype: Any = None):
        super().__init__(np.empty(0, default() if dtype is None else to_numpy(dtype)), requires_grad=requires_grad)


class Buffer(Tensor):
    """Assigned to a module, it becomes one of its buffers, saved with it if persistent."""

    def __init__(self, data: Any = None, *, persistent: bool = True):
        super().__init__(np.empty(0, default()) if data is None else data._array)
        self.persistent = persistent

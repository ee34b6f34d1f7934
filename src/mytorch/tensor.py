"""Tensor: an ndarray, its gradient and the node that made it. Operations are attached by the modules in ops/."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from .dtypes import (
    CPU,
    OF_NUMPY,
    Size,
    default,
    device,
    dtype,
    of_array,
    require_cpu,
    to_numpy,
    unsupported,
)
from .gradmode import is_grad_enabled

ndarray = np.ndarray


class Tensor:
    """Torch's Tensor over one NumPy array on the CPU.

    _version is a one-element list shared by everything that shares the memory (views, detach()); every in-place
    change raises it, and backward compares. _base is the tensor a view was taken from.
    """

    __slots__ = ("__weakref__", "_array", "_base", "_grad", "_hooks", "_node", "_requires_grad", "_version")
    __array_priority__ = 1000  # ndarray + Tensor is left to Tensor.__radd__

    def __init__(self, data: Any = (), *sizes: Any, requires_grad: bool = False):
        if data.__class__ is not ndarray:
            data = _legacy(data, sizes)
        self._array = data
        self._requires_grad = requires_grad
        self._grad: Tensor | None = None
        self._node: Any = None
        self._version = [0]
        self._base: Tensor | None = None
        self._hooks: list | None = None

    def __getattr__(self, name: str) -> Any:  # only for what is not there
        raise unsupported(f"Tensor.{name}")

    # the operators: attached from ops/
    __add__: Any
    __radd__: Any
    __sub__: Any
    __rsub__: Any
    __mul__: Any
    __rmul__: Any
    __truediv__: Any
    __rtruediv__: Any
    __floordiv__: Any
    __mod__: Any
    __pow__: Any
    __rpow__: Any
    __matmul__: Any
    __neg__: Any
    __invert__: Any
    __and__: Any
    __or__: Any
    __xor__: Any
    __lt__: Any
    __le__: Any
    __gt__: Any
    __ge__: Any
    __eq__: Any
    __ne__: Any
    __getitem__: Any
    __setitem__: Any

    # what it is
    @property
    def shape(self) -> Size:
        return Size(self._array.shape)

    @property
    def dtype(self) -> dtype:
        return OF_NUMPY[self._array.dtype]

    @property
    def device(self) -> device:
        return CPU

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def itemsize(self) -> int:
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        return self._array.size * self._array.itemsize

    @property
    def is_leaf(self) -> bool:
        return self._node is None

    @property
    def requires_grad(self) -> bool:
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if self._node is not None and value:
            raise RuntimeError("you can only change requires_grad flags of leaf variables.")
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        if requires_grad and self._array.dtype.kind not in "fc":
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        if not requires_grad and self._node is not None:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable "
                "in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        self._requires_grad = bool(requires_grad)
        return self

    @property
    def grad(self) -> Tensor | None:
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got grad of type '{type(value).__name__}'"
                )
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            own, new = self._array, value._array
            if new.dtype != own.dtype:
                raise RuntimeError(f"assigned grad has data of a different type: {value.dtype}, not {self.dtype}")
            if new.shape != own.shape:
                raise RuntimeError(f"assigned grad has data of a different size: {value.shape}, not {self.shape}")
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def grad_fn(self) -> Any:
        return self._node

    @property
    def layout(self) -> str:
        return "torch.strided"

    is_cuda = is_mps = is_sparse = is_quantized = is_meta = False

    def size(self, dim: int | None = None) -> Any:
        return Size(self._array.shape) if dim is None else self._array.shape[dim]

    def dim(self) -> int:
        return self._array.ndim

    ndimension = dim

    def numel(self) -> int:
        return self._array.size

    nelement = numel

    def element_size(self) -> int:
        return self._array.itemsize

    def stride(self, dim: int | None = None) -> Any:
        steps = tuple(s // self._array.itemsize for s in self._array.strides)
        return steps if dim is None else steps[dim]

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return self._array.flags.c_contiguous

    def is_floating_point(self) -> bool:
        return self._array.dtype.kind == "f"

    def is_complex(self) -> bool:
        return False

    def data_ptr(self) -> int:
        return self._array.ctypes.data

    def get_device(self) -> int:
        return -1

    # out of mytorch
    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The array itself: memory is shared."""
        if self.requires_grad and not force and is_grad_enabled():
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, **settings: Any) -> Any:
        return self.numpy().__dlpack__(**settings)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()

    def __array_wrap__(self, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Tensor:
        return Tensor(array)  # np.sin(tensor) is a tensor, as in torch

    def item(self) -> Any:
        if self._array.size != 1:
            raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to Scalar")
        return self._array.item()

    def tolist(self) -> Any:
        return self._array.tolist()

    def __bool__(self) -> bool:
        if self._array.size != 1:
            kind = "no values" if self._array.size == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {kind} is ambiguous")
        return bool(self._array.item())

    def _number(self) -> Any:
        if self._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self._array.item()

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __index__(self) -> int:
        if self._array.size != 1 or self._array.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self._array.item())

    def __format__(self, spec: str) -> str:
        """A 0-d tensor is printed as its number; with more values, a format like .3f is an error, as in torch."""
        plain = self._array.ndim == 0 and type(self) is Tensor
        return format(self.item(), spec) if plain else object.__format__(self, spec)

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if self._array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, value: Any) -> bool:
        return bool((self._array == (value._array if isinstance(value, Tensor) else value)).any())

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        from .printing import tensor_text  # printing is not needed to compute

        return tensor_text(self)

    # the same memory
    def detach(self) -> Tensor:
        out = Tensor(self._array)
        out._version = self._version
        return out

    @property
    def data(self) -> Tensor:
        """The same memory with a version of its own: changes made through it are not seen by autograd."""
        return Tensor(self._array)

    @data.setter
    def data(self, value: Tensor) -> None:
        self._array = value._array
        self._version = [self._version[0]]  # no in-place change: backward reads the new memory, views keep the old

    def detach_(self) -> Tensor:
        self._node = self._base = None
        self._requires_grad = False
        return self

    def cpu(self) -> Tensor:
        return self

    def pin_memory(self) -> Tensor:
        return self

    def share_memory_(self) -> Tensor:
        return self

    def is_pinned(self) -> bool:
        return False

    def cuda(self, *args: Any, **kwargs: Any) -> Tensor:
        require_cpu("cuda")
        return self

    # new tensors of the same kind
    def new_tensor(self, data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
        kind = self._array.dtype if dtype is None else to_numpy(dtype)
        return Tensor(np.array(data, dtype=kind), requires_grad=requires_grad)

    def new(self, *data: Any) -> Tensor:
        """For older scripts: x.new(2, 3) is uninitialised memory, x.new([...]) holds the values. The dtype is x's."""
        first = data[0] if data else ()
        if isinstance(first, (list, tuple, ndarray, Tensor)) and not isinstance(first, Size):
            return self.new_tensor(first._array if isinstance(first, Tensor) else first)
        return Tensor(Tensor(*data)._array.astype(self._array.dtype, copy=False))

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        if dtype is None:
            return f"torch.{of_array(self._array).legacy}"
        from .legacy import dtype_of  # torch.FloatTensor and 'torch.FloatTensor' name a dtype too

        return self.to(dtype_of(dtype))


def _legacy(data: Any, sizes: tuple) -> np.ndarray:
    """torch.Tensor(2, 3) is uninitialised memory of that shape, torch.Tensor([...]) the values in the default dtype."""
    if isinstance(data, (np.generic, np.ndarray)):  # a NumPy number, or a subclass such as a memmap
        return np.asarray(data)
    if isinstance(data, Tensor):
        return data._array
    if isinstance(data, int):
        return np.empty((data, *sizes), default())
    if isinstance(data, Size):
        return np.empty(data, default())
    return np.array(data, default())


class _Names(ModuleType):
    """`from mytorch.tensor import Tensor` gives a script torch's Tensor, which copies an array to the default dtype.

    Inside this package the name is the class above, which wraps an array as it is.
    """

    @property
    def Tensor(self) -> Any:
        asking = sys._getframe(1).f_globals.get("__name__", "")
        if asking.partition(".")[0] == "mytorch":
            return self.__dict__["Tensor"]
        from .legacy import Tensor

        return Tensor


sys.modules[__name__].__class__ = _Names

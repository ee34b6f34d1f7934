"""torch.storage: the memory behind a tensor, shared by its views."""

from __future__ import annotations

from typing import Any

import numpy as np

from .absent import names_in
from .naming import attach
from .tensor import Tensor

__getattr__ = names_in("torch.storage")


class UntypedStorage:
    """The bytes that a tensor and its views share."""

    def __init__(self, array: np.ndarray):
        while isinstance(array.base, np.ndarray):  # the array that owns the memory
            array = array.base
        self._array = array

    def data_ptr(self) -> int:
        return self._array.__array_interface__["data"][0]

    def nbytes(self) -> int:
        return self._array.nbytes

    size = __len__ = nbytes


class TypedStorage(UntypedStorage):
    """The same memory as numbers in a row, whatever the shape and the steps of the tensor."""

    def _numbers(self) -> np.ndarray:
        return self._array.reshape(-1, order="A")

    def __len__(self) -> int:
        return self._array.size

    size = __len__  # type: ignore[assignment]

    def __getitem__(self, index: Any) -> Any:
        return self._numbers()[index].tolist()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._numbers()[index] = value

    def tolist(self) -> list:
        return self._numbers().tolist()


def untyped_storage(self: Tensor) -> UntypedStorage:
    return UntypedStorage(self._array)


def storage(self: Tensor) -> TypedStorage:
    return TypedStorage(self._array)


attach(untyped_storage, storage)

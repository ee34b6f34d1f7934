"""torch.storage: the memory behind a tensor, shared by its views."""

from __future__ import annotations

import numpy as np

from .absent import names_in
from .naming import attach
from .tensor import Tensor

__getattr__ = names_in("torch.storage")


class UntypedStorage:
    """The bytes that a tensor and its views lie in."""

    def __init__(self, array: np.ndarray):
        while isinstance(array.base, np.ndarray):  # the array that owns the memory
            array = array.base
        self._array = array

    def data_ptr(self) -> int:
        return self._array.__array_interface__["data"][0]

    def nbytes(self) -> int:
        return self._array.nbytes

    size = __len__ = nbytes


def untyped_storage(self: Tensor) -> UntypedStorage:
    return UntypedStorage(self._array)


attach(untyped_storage)

"""Parameters as one long vector and back."""

from __future__ import annotations

from collections.abc import Iterable

from mytorch.ops.shape import cat
from mytorch.tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    return cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Copies consecutive parts of the vector into the parameters, in order."""
    start = 0
    for parameter in parameters:
        stop = start + parameter._array.size
        parameter._array[...] = vec._array[start:stop].reshape(parameter._array.shape)
        parameter._version[0] += 1
        start = stop

"""erf and the softmaxes as tensor operations: their array code lives with the activations that need it most."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..naming import attach, numpy_names
from ..nn.functional import activation
from ..tensor import Tensor
from . import either
from .pointwise import unary
from .reduce import axis_of

erf = unary("erf", activation.erf, lambda x, y: either.exp(-x * x) * float(2 / np.sqrt(np.pi)))


@numpy_names
def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    return activation.softmax(input, axis_of(dim, input._array.ndim), dtype=dtype)


@numpy_names
def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    return activation.log_softmax(input, axis_of(dim, input._array.ndim), dtype=dtype)


def erfc(input: Tensor) -> Tensor:
    return 1 - erf(input)


METHODS = attach(erf, erfc, softmax, log_softmax)

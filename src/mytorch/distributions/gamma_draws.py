"""Draws of the gamma distribution with a gradient.

A draw z of Gamma(a) has no formula that could be differentiated. But its place in the distribution, P(a, z), is a
uniform number, which is kept: along dP/da + dP/dz · dz/da = 0 the draw moves by dz/da = -(dP/da) / density(z).
"""

from __future__ import annotations

import numpy as np

from mytorch.autograd import record
from mytorch.ops.gamma import lgamma_array, lower_and_upper
from mytorch.random import numpy_generator
from mytorch.tensor import Tensor


def slope(a: np.ndarray, z: np.ndarray) -> np.ndarray:
    """dz/da, by central differences of P: of its upper rest where P is nearly 1, which has more digits there."""
    a, z = a.astype(np.float64), z.astype(np.float64)
    h = 1e-4 * np.minimum(a, np.sqrt(a))
    (below, rest_below), (above, rest_above) = lower_and_upper(a - h, z), lower_and_upper(a + h, z)
    change = np.where(below < 0.5, above - below, rest_below - rest_above) / (2 * h)
    density = np.exp((a - 1) * np.log(z) - z - lgamma_array(a))
    return -change / density


def standard_gamma(concentration: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Draws of Gamma(concentration, 1) in this shape, which ends in that of the concentration."""
    a = concentration._array
    drawn = numpy_generator().standard_gamma(a.astype(np.float64), shape)
    out = np.maximum(drawn, np.finfo(a.dtype).tiny).astype(a.dtype)
    wide = concentration.expand(shape)

    def standard_gamma_backward(g: np.ndarray, a: np.ndarray) -> tuple:
        return ((g * slope(a, out)).astype(g.dtype),)

    return record(np.asarray(out), (wide,), standard_gamma_backward, (wide,))

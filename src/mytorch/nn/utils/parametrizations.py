"""Weights kept in a form by what computes them: weight_norm (a length and a direction), spectral_norm, orthogonal.

Each is a module registered with parametrize, so that the names in state dicts are torch's (parametrizations.weight
.original0) and remove_parametrizations takes it away. The older functions of the same names are in reparametrized.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mytorch import linalg
from mytorch.absent import refuse_names
from mytorch.autograd import no_grad
from mytorch.creation import eye
from mytorch.nn import functional as F
from mytorch.nn.modules.module import Module
from mytorch.ops.combine import cat, matrix_exp
from mytorch.random import randn
from mytorch.tensor import Tensor

from .parametrize import register_parametrization, remove_parametrizations  # noqa: F401
from .reparametrized import norm_except


class _WeightNorm(Module):
    """weight = g · v / |v|"""

    def __init__(self, dim: int | None = 0):
        super().__init__()
        self.dim = None if dim == -1 else dim

    def forward(self, g: Tensor, v: Tensor) -> Tensor:
        return v * (g / norm_except(v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Module:
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def read_older(module: Module, state: dict, prefix: str, *_: Any) -> None:
        for old, new in (("g", "0"), ("v", "1")):
            if f"{prefix}{name}_{old}" in state:
                state[f"{prefix}parametrizations.{name}.original{new}"] = state.pop(f"{prefix}{name}_{old}")

    module.register_load_state_dict_pre_hook(read_older)
    return module


class _SpectralNorm(Module):
    """weight / σ, σ its largest singular value, followed by n_power_iterations steps per call in training."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12):
        super().__init__()
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps, self.n_power_iterations = dim % max(weight.dim(), 1), eps, n_power_iterations
        if weight.dim() > 1:
            matrix = self._matrix(weight.detach())
            for part, length in zip(("_u", "_v"), matrix.shape):
                self.register_buffer(part, F.normalize(randn(length, dtype=weight.dtype), dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        return weight.transpose(0, self.dim).flatten(1) if self.dim else weight.flatten(1)

    def _iterate(self, matrix: Tensor, steps: int) -> None:
        with no_grad():
            for _ in range(steps):
                self._u.copy_(F.normalize(matrix.mv(self._v), dim=0, eps=self.eps))
                self._v.copy_(F.normalize(matrix.t().mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # the buffers change at the next call, which backward must not see
        return weight / u.dot(matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    made = _SpectralNorm(getattr(module, name), n_power_iterations, dim, eps)
    return register_parametrization(module, name, made)


_MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    """A matrix with orthonormal rows or columns from one without conditions (Lezcano-Casado, arxiv.org/abs/1909.09501).

    matrix_exp and cayley turn A - Aᵀ into a rotation; householder multiplies reflections, one per column. With
    use_trivialization the result is applied to `base`, so that the parameters start where any assigned matrix is.
    """

    def __init__(self, orthogonal_map: str, use_trivialization: bool):
        super().__init__()
        self.orthogonal_map, self.use_trivialization = orthogonal_map, use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.size(-2) < X.size(-1)
        tall = X.mT if wide else X
        n, k = tall.size(-2), tall.size(-1)
        if self.orthogonal_map == "householder":
            below = tall.tril(-1)
            Q = linalg.householder_product(below, 2.0 / (1.0 + (below * below).sum(-2)))
            Q = Q * tall.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            lower = tall.tril()
            if n != k:
                lower = cat([lower, lower.new_zeros(*lower.shape[:-1], n - k)], -1)
            skew = lower - lower.mT
            if self.orthogonal_map == "matrix_exp":
                Q = matrix_exp(skew)
            else:
                one = eye(n, dtype=X.dtype)
                Q = linalg.solve(one - 0.5 * skew, one + 0.5 * skew)
            Q = Q[..., :k]
        if self.use_trivialization:
            Q = self.base @ Q
        return Q.mT if wide else Q

    def right_inverse(self, Q: Tensor) -> Tensor:
        start = Q
        if Q.size(-2) < Q.size(-1):
            Q = Q.mT
        n, k = Q.size(-2), Q.size(-1)
        if self.use_trivialization:
            self.base = _nearest(Q if n == k else cat([Q, randn(*Q.shape[:-1], n - k, dtype=Q.dtype)], -1))
            inverse = np.zeros_like(start._array)
            index = np.arange(k)
            inverse[..., index, index] = -1.0  # no rotation, and reflections that undo one another
            return Tensor(inverse)
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        reflections, tau = (Tensor(part) for part in _reflections(Q._array))
        index = np.arange(k)
        diagonal = np.sign(reflections._array[..., index, index])
        reflections._array[..., index, index] = np.where(tau._array == 0, -diagonal, diagonal)
        return reflections.mT if start.size(-2) < start.size(-1) else reflections


def _reflections(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """LAPACK's geqrf: below the diagonal the reflections, one per column, and their factors."""
    flat = matrix.reshape(-1, *matrix.shape[-2:])
    made = [np.linalg.qr(one, mode="raw") for one in flat]
    packed, tau = (np.stack([each[i] for each in made]) for i in (0, 1))
    shape = matrix.shape[:-2]
    return np.ascontiguousarray(packed.swapaxes(-1, -2)).reshape(matrix.shape), tau.reshape(*shape, -1)


def _nearest(matrix: Tensor) -> Tensor:
    """An orthogonal matrix: the matrix itself if it is one."""
    q, r = np.linalg.qr(matrix._array)
    return Tensor(q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[..., None, :])


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.size(-2) == weight.size(-1) else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    return register_parametrization(module, name, _Orthogonal(orthogonal_map, use_trivialization), unsafe=True)


__getattr__ = refuse_names("torch.nn.utils.parametrizations")

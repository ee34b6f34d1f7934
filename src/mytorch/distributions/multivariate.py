"""MultivariateNormal, and Independent, which counts the last batch dimensions as part of one event."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

import mytorch as torch
from mytorch.random import randn
from mytorch.tensor import Tensor

from . import constraints
from .distribution import Distribution


def sum_rightmost(value: Tensor, dims: int) -> Tensor:
    return value.sum(tuple(range(-dims, 0))) if dims else value


class Independent(Distribution):
    arg_constraints: ClassVar[dict[str, Any]] = {}

    def __init__(self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None):
        batch, dims = base_distribution.batch_shape, reinterpreted_batch_ndims
        if dims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {dims} vs {len(batch)}"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, dims
        split = len(batch) - dims
        super().__init__(batch[:split], batch[split:] + base_distribution.event_shape, validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @property
    def support(self) -> Any:  # type: ignore[override]
        base = self.base_dist.support
        return None if base is None else constraints.independent(base, self.reinterpreted_batch_ndims)

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Independent:
        inner = self.event_shape[: self.reinterpreted_batch_ndims]
        return Independent(self.base_dist.expand((*batch_shape, *inner)), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


class MultivariateNormal(Distribution):
    """A mean vector and one of covariance_matrix, precision_matrix or scale_tril (the covariance's Cholesky factor)."""

    has_rsample = True
    arg_constraints: ClassVar[dict[str, Any]] = {
        "loc": constraints.real_vector,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ):
        given = [covariance_matrix, precision_matrix, scale_tril]
        if sum(each is not None for each in given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        if precision_matrix is not None:
            covariance_matrix = torch.linalg.inv(precision_matrix)
        lower = scale_tril if scale_tril is not None else torch.linalg.cholesky(covariance_matrix)  # type: ignore[arg-type]
        batch = np.broadcast_shapes(tuple(lower.shape[:-2]), tuple(loc.shape[:-1]))
        size = loc.shape[-1]
        self.loc, self.scale_tril = loc.expand(*batch, size), lower.expand(*batch, size, size)
        self._unbroadcasted_scale_tril = lower  # torch's name, which subclasses read
        super().__init__(batch, (size,), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def covariance_matrix(self) -> Tensor:
        return self.scale_tril @ self.scale_tril.transpose(-2, -1)

    @property
    def precision_matrix(self) -> Tensor:
        return torch.linalg.inv(self.covariance_matrix)

    @property
    def variance(self) -> Tensor:
        return self.scale_tril.pow(2).sum(-1)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise = randn(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + (self.scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self) -> Tensor:
        return self.scale_tril.diagonal(0, -2, -1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        away = (value - self.loc).unsqueeze(-1)
        lower = self._unbroadcasted_scale_tril
        white = torch.linalg.solve_triangular(lower, away, upper=False).squeeze(-1)
        half_log_det = lower.diagonal(0, -2, -1).log().sum(-1)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + white.pow(2).sum(-1)) - half_log_det

    def entropy(self) -> Tensor:
        return 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()

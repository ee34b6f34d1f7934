"""Exponential and the family around the gamma function: Gamma, Chi2, Beta, Dirichlet, StudentT."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

import mytorch as torch
from mytorch.random import numpy_generator
from mytorch.tensor import Tensor

from . import constraints
from .distribution import Distribution, ExponentialFamily, broadcast_all
from .gamma_draws import standard_gamma


class Exponential(ExponentialFamily):
    has_rsample = True
    arg_constraints: ClassVar[dict[str, Any]] = {"rate": constraints.positive}
    support = constraints.nonnegative

    def __init__(self, rate: Any, validate_args: bool | None = None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        return torch.zeros_like(self.rate)

    @property
    def variance(self) -> Tensor:
        return self.rate.pow(-2)

    @property
    def stddev(self) -> Tensor:
        return self.rate.reciprocal()

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape, kind = self._extended_shape(sample_shape), self.rate._array.dtype
        return Tensor(np.asarray(numpy_generator().standard_exponential(shape), kind)) / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        return 1 - torch.exp(-self.rate * value)

    def icdf(self, value: Tensor) -> Tensor:
        return -torch.log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        return 1.0 - torch.log(self.rate)


class Gamma(ExponentialFamily):
    has_rsample = True
    arg_constraints: ClassVar[dict[str, Any]] = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return standard_gamma(self.concentration, self._extended_shape(sample_shape)) / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        a, b = self.concentration, self.rate
        return torch.xlogy(a, b) + torch.xlogy(a - 1, value) - b * value - torch.lgamma(a)

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return torch.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - torch.log(self.rate) + torch.lgamma(a) + (1.0 - a) * torch.digamma(a)


class Chi2(Gamma):
    arg_constraints: ClassVar[dict[str, Any]] = {"df": constraints.positive}
    _derived: ClassVar[tuple[str, ...]] = ("concentration", "rate")

    def __init__(self, df: Any, validate_args: bool | None = None):
        (self.df,) = broadcast_all(df)
        super().__init__(0.5 * self.df, 0.5, validate_args)


class Dirichlet(ExponentialFamily):
    has_rsample = True
    arg_constraints: ClassVar[dict[str, Any]] = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex

    def __init__(self, concentration: Tensor, validate_args: bool | None = None):
        if concentration._array.ndim < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        inside = above / above.sum(-1, True)
        # with every concentration below 1 the density is highest in the corners: the first of them, as torch says
        corner = torch.nn.functional.one_hot(inside.argmax(-1), self.concentration.shape[-1]).to(inside.dtype)
        return torch.where((self.concentration < 1).all(-1, keepdim=True), corner, inside)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn = standard_gamma(self.concentration, self._extended_shape(sample_shape))
        return drawn / drawn.sum(-1, True)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        a = self.concentration
        return torch.xlogy(a - 1.0, value).sum(-1) + torch.lgamma(a.sum(-1)) - torch.lgamma(a).sum(-1)

    def entropy(self) -> Tensor:
        a = self.concentration
        k, total = a.shape[-1], a.sum(-1)
        spread = torch.lgamma(a).sum(-1) - torch.lgamma(total)
        return spread - (k - total) * torch.digamma(total) - ((a - 1.0) * torch.digamma(a)).sum(-1)


class Beta(ExponentialFamily):
    has_rsample = True
    arg_constraints: ClassVar[dict[str, Any]] = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        super().__init__(self.concentration1.shape, (), validate_args)

    @property
    def _dirichlet(self) -> Dirichlet:
        return Dirichlet(torch.stack([self.concentration1, self.concentration0], -1), False)

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._dirichlet.rsample(sample_shape)[..., 0]

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return self._dirichlet.log_prob(torch.stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()


class StudentT(Distribution):
    has_rsample = True
    arg_constraints: ClassVar[dict[str, Any]] = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        return torch.where(self.df <= 1, torch.full_like(self.loc, float("nan")), self.loc)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """Infinite for 1 < df <= 2 and undefined below."""
        finite = self.scale.pow(2) * self.df / (self.df - 2)
        wide = torch.where(self.df > 2, finite, torch.full_like(self.df, float("inf")))
        return torch.where(self.df <= 1, torch.full_like(self.df, float("nan")), wide)

    def entropy(self) -> Tensor:
        half = 0.5 * self.df
        log_beta = torch.lgamma(half) + torch.lgamma(torch.full_like(half, 0.5)) - torch.lgamma(half + 0.5)
        away = torch.digamma(half + 0.5) - torch.digamma(half)
        return self.scale.log() + (half + 0.5) * away + 0.5 * self.df.log() + log_beta

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape, kind = self._extended_shape(sample_shape), self.loc._array.dtype
        normal = Tensor(np.asarray(numpy_generator().standard_normal(shape), kind))
        square = 2 * standard_gamma(0.5 * self.df, shape)
        return self.loc + self.scale * normal * torch.rsqrt(square / self.df)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        y = (value - self.loc) / self.scale
        half = 0.5 * self.df
        norm = self.scale.log() + 0.5 * self.df.log() + 0.5 * float(np.log(np.pi))
        norm = norm + torch.lgamma(half) - torch.lgamma(half + 0.5)
        return -(half + 0.5) * torch.log1p(y**2.0 / self.df) - norm

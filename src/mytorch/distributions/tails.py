"""Distributions with long tails and of lifetimes: HalfCauchy, Pareto, Weibull."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import mytorch as torch
from mytorch.tensor import Tensor

from . import constraints
from .distribution import Distribution, broadcast_all
from .location import EULER, Cauchy, _open_uniform


class HalfCauchy(Distribution):
    """The absolute value of a Cauchy about zero."""

    has_rsample = True
    arg_constraints: ClassVar[dict[str, Any]] = {"scale": constraints.positive}
    support = constraints.nonnegative

    def __init__(self, scale: Any, validate_args: bool | None = None):
        (self.scale,) = broadcast_all(scale)
        super().__init__(self.scale.shape, (), validate_args)

    def _whole(self) -> Cauchy:
        return Cauchy(torch.zeros_like(self.scale), self.scale, False)

    @property
    def mean(self) -> Tensor:
        return torch.full_like(self.scale, math.inf)

    variance = mean

    @property
    def mode(self) -> Tensor:
        return torch.zeros_like(self.scale)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._whole().rsample(sample_shape).abs()

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return self._whole().log_prob(value) + math.log(2)

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return 2 * self._whole().cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self._whole().icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self._whole().entropy() - math.log(2)


class Pareto(Distribution):
    """The density is 0 below `scale` and proportional to x^-(alpha + 1) above."""

    has_rsample = True
    arg_constraints: ClassVar[dict[str, Any]] = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        super().__init__(self.scale.shape, (), validate_args)

    @property
    def support(self) -> constraints.Constraint:  # type: ignore[override]
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.scale * _open_uniform(self, sample_shape, self.scale).pow(-1 / self.alpha)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return self.alpha.log() + self.alpha * self.scale.log() - (self.alpha + 1) * value.log()

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return 1 - (self.scale / value).pow(self.alpha)

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * (1 - value).pow(-1 / self.alpha)

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + 1 + 1 / self.alpha


class Weibull(Distribution):
    """Lifetimes: scale · e^(1/concentration) of an exponential variable e."""

    has_rsample = True
    arg_constraints: ClassVar[dict[str, Any]] = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        super().__init__(self.scale.shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * torch.exp(torch.lgamma(1 + 1 / self.concentration))

    @property
    def mode(self) -> Tensor:
        return self.scale * ((self.concentration - 1) / self.concentration) ** (1 / self.concentration)

    @property
    def variance(self) -> Tensor:
        first, second = (torch.lgamma(1 + k / self.concentration) for k in (1, 2))
        return self.scale.pow(2) * (torch.exp(second) - torch.exp(2 * first))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        waits = -_open_uniform(self, sample_shape, self.scale).log()
        return self.scale * waits.pow(1 / self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        k, share = self.concentration, value / self.scale
        return k.log() - self.scale.log() + (k - 1) * share.log() - share.pow(k)

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return -torch.expm1(-(value / self.scale).pow(self.concentration))

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * (-torch.log1p(-value)).pow(1 / self.concentration)

    def entropy(self) -> Tensor:
        k = self.concentration
        return EULER * (1 - 1 / k) + (self.scale / k).log() + 1

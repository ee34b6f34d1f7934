"""Distributions with a location and a scale: Normal, LogNormal, HalfNormal, Laplace, Cauchy, Gumbel, Uniform."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import mytorch as torch
from mytorch.random import rand, randn
from mytorch.tensor import Tensor

from . import constraints
from .distribution import Distribution, ExponentialFamily, broadcast_all

EULER = 0.57721566490153286060


def _noise(distribution: Distribution, sample_shape: Any, draw: Any, like: Tensor) -> Tensor:
    return draw(distribution._extended_shape(sample_shape), dtype=like.dtype)


def _open_uniform(distribution: Distribution, sample_shape: Any, like: Tensor) -> Tensor:
    """Uniform in (0, 1), neither end included, so that logarithms are finite."""
    tiny = torch.finfo(like.dtype).eps
    return _noise(distribution, sample_shape, rand, like).clamp(tiny, 1 - tiny)


class _LocScale(Distribution):
    has_rsample = True
    arg_constraints: ClassVar[dict[str, Any]] = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc


class Normal(_LocScale, ExponentialFamily):
    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.loc + _noise(self, sample_shape, randn, self.loc) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return -((value - self.loc) ** 2) / (2 * self.scale**2) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Tensor) -> Tensor:
        return 0.5 * (1 + torch.erf((value - self.loc) / self.scale / math.sqrt(2)))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + torch.log(self.scale)


class LogNormal(_LocScale):
    """exp of a Normal."""

    support = constraints.positive

    @property
    def _log(self) -> Normal:
        return Normal(self.loc, self.scale, False)

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        squared = self.scale.pow(2)
        return squared.expm1() * (2 * self.loc + squared).exp()

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._log.rsample(sample_shape).exp()

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        log = value.log()
        return self._log.log_prob(log) - log

    def cdf(self, value: Tensor) -> Tensor:
        return self._log.cdf(value.log())

    def icdf(self, value: Tensor) -> Tensor:
        return self._log.icdf(value).exp()

    def entropy(self) -> Tensor:
        return self._log.entropy() + self.loc


class HalfNormal(Distribution):
    """The absolute value of a Normal about zero."""

    has_rsample = True
    arg_constraints: ClassVar[dict[str, Any]] = {"scale": constraints.positive}
    support = constraints.nonnegative

    def __init__(self, scale: Any, validate_args: bool | None = None):
        (self.scale,) = broadcast_all(scale)
        super().__init__(self.scale.shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        return torch.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return (_noise(self, sample_shape, randn, self.scale) * self.scale).abs()

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return Normal(torch.zeros_like(self.scale), self.scale, False).log_prob(value) + math.log(2)

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return 2 * Normal(torch.zeros_like(self.scale), self.scale, False).cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return Normal(torch.zeros_like(self.scale), self.scale, False).icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return Normal(torch.zeros_like(self.scale), self.scale, False).entropy() - math.log(2)


class Laplace(_LocScale):
    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return math.sqrt(2) * self.scale

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        side = 2 * _open_uniform(self, sample_shape, self.loc) - 1
        return self.loc - self.scale * side.sign() * torch.log1p(-side.abs())

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return -torch.log(2 * self.scale) - torch.abs(value - self.loc) / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        return 0.5 - 0.5 * (value - self.loc).sign() * torch.expm1(-(value - self.loc).abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        side = value - 0.5
        return self.loc - self.scale * side.sign() * torch.log1p(-2 * side.abs())

    def entropy(self) -> Tensor:
        return 1 + torch.log(2 * self.scale)


class Cauchy(_LocScale):
    @property
    def mean(self) -> Tensor:
        return torch.full_like(self.loc, math.nan)

    @property
    def variance(self) -> Tensor:
        return torch.full_like(self.loc, math.inf)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        turn = _open_uniform(self, sample_shape, self.loc) - 0.5
        return self.loc + self.scale * torch.tan(math.pi * turn)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return torch.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()


class Gumbel(_LocScale):
    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * EULER

    @property
    def variance(self) -> Tensor:
        return (math.pi / math.sqrt(6) * self.scale).pow(2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.loc - self.scale * (-_open_uniform(self, sample_shape, self.loc).log()).log()

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return torch.exp(-torch.exp((self.loc - value) / self.scale))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + EULER)


class Uniform(Distribution):
    """From low to high, high not included."""

    has_rsample = True
    arg_constraints: ClassVar[dict[str, Any]] = {"low": constraints.real, "high": constraints.real}

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None):
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, (), validate_args)
        if self._validate_args and not bool((self.low.detach() < self.high.detach()).all()):
            raise ValueError(f"Uniform is not defined when low >= high, but got {self.low} and {self.high}")

    @property
    def support(self) -> constraints.Constraint:  # type: ignore[override]
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        return torch.full_like(self.high, math.nan)

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.low + _noise(self, sample_shape, rand, self.low) * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        inside = (self.low <= value) & (self.high > value)
        return torch.log(inside.to(self.low.dtype)) - torch.log(self.high - self.low)

    def cdf(self, value: Tensor) -> Tensor:
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return torch.log(self.high - self.low)

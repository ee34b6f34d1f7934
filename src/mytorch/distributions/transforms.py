"""Invertible functions of random values and the distributions they make: TransformedDistribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mytorch as torch
from mytorch.nn import functional as F
from mytorch.tensor import Tensor

from . import constraints
from .distribution import Distribution
from .multivariate import sum_rightmost


class Transform:
    """y = f(x), its inverse, and the logarithm of |dy/dx|."""

    event_dim = 0
    codomain: constraints.Constraint = constraints.real

    def __init__(self, cache_size: int = 0):
        pass

    def __call__(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} defines no __call__(x)")

    def inv(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} defines no inv(y)")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} defines no log_abs_det_jacobian(x, y)")

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ExpTransform(Transform):
    codomain = constraints.positive

    def __call__(self, x: Tensor) -> Tensor:
        return x.exp()

    def inv(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class SigmoidTransform(Transform):
    codomain = constraints.unit_interval

    def __call__(self, x: Tensor) -> Tensor:
        return torch.sigmoid(x)

    def inv(self, y: Tensor) -> Tensor:
        eps = torch.finfo(y.dtype).eps
        y = y.clamp(eps, 1 - eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -F.softplus(-x) - F.softplus(x)


class TanhTransform(Transform):
    codomain = constraints.interval(-1.0, 1.0)

    def __call__(self, x: Tensor) -> Tensor:
        return x.tanh()

    def inv(self, y: Tensor) -> Tensor:
        return torch.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))  # log(1 - tanh²), safe for large x


class AffineTransform(Transform):
    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0):
        self.loc, self.scale, self.event_dim = loc, scale, event_dim

    def __call__(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def inv(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = self.scale if isinstance(self.scale, Tensor) else torch.full_like(x, float(self.scale))
        return sum_rightmost(scale.abs().log().expand(x.shape), self.event_dim)


class ComposeTransform(Transform):
    """One after the other."""

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0):
        self.parts = list(parts)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return max((part.event_dim for part in self.parts), default=0)

    @property
    def codomain(self) -> constraints.Constraint:  # type: ignore[override]
        return self.parts[-1].codomain if self.parts else constraints.real

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def inv(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part.inv(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        total: Any = 0.0
        for part in self.parts:
            out = part(x)
            total = total + sum_rightmost(part.log_abs_det_jacobian(x, out), self.event_dim - part.event_dim)
            x = out
        return total


class TransformedDistribution(Distribution):
    """What a base distribution's values become under transforms."""

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None):
        self.base_dist = base_distribution
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        events = max([len(base_distribution.event_shape), *(each.event_dim for each in self.transforms)])
        split = len(shape) - events
        super().__init__(shape[:split], shape[split:], validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @property
    def support(self) -> Any:  # type: ignore[override]
        rule = self.transforms[-1].codomain if self.transforms else self.base_dist.support
        more = len(self.event_shape) - rule.event_dim
        return constraints.independent(rule, more)

    def _transformed(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with torch.no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        events, y, total = len(self.event_shape), value, 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            slope = transform.log_abs_det_jacobian(x, y)
            total = total - sum_rightmost(slope, events - transform.event_dim)  # type: ignore[assignment]
            y = x
        return total + sum_rightmost(self.base_dist.log_prob(y), events - len(self.base_dist.event_shape))

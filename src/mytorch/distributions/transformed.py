"""TransformedDistribution: what a base distribution's values become under transforms."""

from __future__ import annotations

import copy
from typing import Any

import mytorch as torch
from mytorch.dtypes import Size
from mytorch.tensor import Tensor

from . import constraints
from .distribution import Distribution
from .multivariate import Independent, sum_rightmost
from .transforms import ComposeTransform, Transform


class TransformedDistribution(Distribution):
    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None):
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(each, Transform) for each in self.transforms):
            raise ValueError(f"transforms must be a Transform or a list of Transforms, but was {transforms}")
        whole = ComposeTransform(self.transforms)
        given = base_distribution.batch_shape + base_distribution.event_shape
        needed = whole.domain.event_dim
        if len(given) < needed:
            raise ValueError(f"base_distribution needs to have shape with size at least {needed}, but got {given}.")
        shape = whole.forward_shape(given)
        before = whole.inverse_shape(shape)
        base = base_distribution
        if before != given:  # parameters of a transform add batch dimensions
            base = base.expand(before[: len(before) - len(base.event_shape)])
        if needed > len(base.event_shape):
            base = Independent(base, needed - len(base.event_shape))
        self.base_dist = base
        split = len(shape) - whole.codomain.event_dim - max(len(base.event_shape) - needed, 0)
        super().__init__(shape[:split], shape[split:], validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @property
    def support(self) -> Any:  # type: ignore[override]
        rule = self.transforms[-1].codomain if self.transforms else self.base_dist.support
        more = len(self.event_shape) - rule.event_dim
        return constraints.independent(rule, more) if more > 0 else rule

    def expand(self, batch_shape: Any, _instance: Any = None) -> TransformedDistribution:
        new = copy.copy(self)
        before = ComposeTransform(self.transforms).inverse_shape((*batch_shape, *self.event_shape))
        new.base_dist = self.base_dist.expand(before[: len(before) - len(self.base_dist.event_shape)])
        new._batch_shape = Size(batch_shape)
        return new

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
            events += transform.domain.event_dim - transform.codomain.event_dim
            slope = transform.log_abs_det_jacobian(x, y)
            total = total - sum_rightmost(slope, events - transform.domain.event_dim)  # type: ignore[assignment]
            y = x
        return total + sum_rightmost(self.base_dist.log_prob(y), events - len(self.base_dist.event_shape))

    def _turned(self, probability: Tensor) -> Tensor:
        """1 - p where the transforms are decreasing."""
        sign = ComposeTransform(self.transforms).sign
        return probability if isinstance(sign, int) and sign == 1 else sign * (probability - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self._turned(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._transformed(self.base_dist.icdf(self._turned(value)))

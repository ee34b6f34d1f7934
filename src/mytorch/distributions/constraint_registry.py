"""biject_to and transform_to: from unconstrained numbers to values that satisfy a constraint, for optimising them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints
from .transforms import AffineTransform, ComposeTransform, ExpTransform, SigmoidTransform, Transform, identity_transform
from .wide_transforms import (
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)


class ConstraintRegistry:
    """registry(constraint) is a transform; @registry.register(constraint) adds a function that makes one."""

    def __init__(self) -> None:
        self._makers: dict[Any, Callable[[Any], Transform]] = {}

    @staticmethod
    def _key(constraint: Any) -> Any:
        """Its class, or the name of one that has no class of its own."""
        return constraint if isinstance(constraint, type) else getattr(constraint, "name", type(constraint))

    def register(self, constraint: Any, factory: Callable | None = None) -> Callable:
        if factory is None:
            return lambda function: self.register(constraint, function)
        self._makers[self._key(constraint)] = factory
        return factory

    def __call__(self, constraint: Any) -> Transform:
        maker = self._makers.get(self._key(constraint))
        if maker is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return maker(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _both(*rules: Any) -> Callable:
    def register(factory: Callable) -> Callable:
        for rule in rules:
            biject_to.register(rule, factory)
            transform_to.register(rule, factory)
        return factory

    return register


@_both(constraints.real)
def _unbounded(rule: Any) -> Transform:
    return identity_transform


@_both(constraints.greater_than, constraints.greater_than_eq)
def _above(rule: Any) -> Transform:
    return ComposeTransform([ExpTransform(), AffineTransform(rule.lower_bound, 1)])


@_both(constraints.less_than)
def _below(rule: Any) -> Transform:
    return ComposeTransform([ExpTransform(), AffineTransform(rule.upper_bound, -1)])


@_both(constraints.interval, constraints.half_open_interval)
def _between(rule: Any) -> Transform:
    low, high = rule.lower_bound, rule.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


transform_to.register(constraints.lower_cholesky, lambda rule: LowerCholeskyTransform())
for _rule in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_rule, lambda rule: PositiveDefiniteTransform())
biject_to.register(constraints.simplex, lambda rule: StickBreakingTransform())
transform_to.register(constraints.simplex, lambda rule: SoftmaxTransform())
biject_to.register(
    constraints.independent,
    lambda rule: IndependentTransform(biject_to(rule.base_constraint), rule.reinterpreted_batch_ndims),
)
transform_to.register(
    constraints.independent,
    lambda rule: IndependentTransform(transform_to(rule.base_constraint), rule.reinterpreted_batch_ndims),
)

"""What a parameter or a value must satisfy: constraint.check(tensor) says so for every event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mytorch.tensor import Tensor


class Constraint:
    """event_dim is how many last dimensions make one event; a subclass defines check(value)."""

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} defines no check(value)")

    def __repr__(self) -> str:
        bounds = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__}({bounds})"


class Rule(Constraint):
    """A constraint without bounds, by its name in torch."""

    def __init__(self, name: str, rule: Callable[[Tensor], Tensor], event_dim: int = 0, is_discrete: bool = False):
        self.name, self._rule, self.event_dim, self.is_discrete = name, rule, event_dim, is_discrete

    def check(self, value: Tensor) -> Tensor:
        return self._rule(value)

    def __repr__(self) -> str:
        return f"{self.name}()"


class GreaterThan(Constraint):
    def __init__(self, lower_bound: Any):
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return value > self.lower_bound


class GreaterThanEq(GreaterThan):
    def check(self, value: Tensor) -> Tensor:
        return value >= self.lower_bound


class LessThan(Constraint):
    def __init__(self, upper_bound: Any):
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class Interval(Constraint):
    def __init__(self, lower_bound: Any, upper_bound: Any):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class HalfOpenInterval(Interval):
    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value < self.upper_bound)


class IntegerInterval(Interval):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & super().check(value)


class IntegerGreaterThan(GreaterThan):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


class Multinomial(Constraint):
    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: int):
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class IndependentConstraint(Constraint):
    """The base's rule for all of the last dimensions at once."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int):
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete

    def check(self, value: Tensor) -> Tensor:
        answer = self.base_constraint.check(value)
        return answer.flatten(-self.reinterpreted_batch_ndims).all(-1) if self.reinterpreted_batch_ndims else answer

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint}, {self.reinterpreted_batch_ndims})"


class dependent_property(property):
    """A support that depends on the parameters: @dependent_property, with or without arguments."""

    def __init__(self, fn: Any = None, *, is_discrete: bool = False, event_dim: int = 0):
        super().__init__(fn)

    def __call__(self, fn: Any) -> dependent_property:
        return dependent_property(fn)


greater_than, greater_than_eq, less_than = GreaterThan, GreaterThanEq, LessThan
interval, half_open_interval, integer_interval = Interval, HalfOpenInterval, IntegerInterval
multinomial, independent = Multinomial, IndependentConstraint
dependent = Rule("Dependent", lambda x: x == x)
real = Rule("Real", lambda x: x == x)
real_vector = independent(real, 1)
positive = greater_than(0.0)
nonnegative = greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
boolean = Rule("Boolean", lambda x: (x == 0) | (x == 1), 0, True)
positive_integer = IntegerGreaterThan(1)
nonnegative_integer = IntegerGreaterThan(0)
simplex = Rule("Simplex", lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6), 1)
one_hot = Rule("OneHot", lambda x: ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1), 1, True)
lower_cholesky = Rule(
    "LowerCholesky", lambda x: (x.tril() == x).flatten(-2).all(-1) & (x.diagonal(0, -2, -1) > 0).all(-1), 2
)
lower_triangular = Rule("LowerTriangular", lambda x: (x.tril() == x).flatten(-2).all(-1), 2)
square = Rule("Square", lambda x: (x[..., 0, 0] == x[..., 0, 0]) & (x.shape[-1] == x.shape[-2]), 2)
symmetric = Rule("Symmetric", lambda x: _symmetric(x), 2)
positive_semidefinite = Rule("PositiveSemidefinite", lambda x: _smallest(x) >= 0, 2)
positive_definite = Rule("PositiveDefinite", lambda x: _smallest(x) > 0, 2)


def _symmetric(x: Tensor) -> Tensor:
    return ((x - x.transpose(-2, -1)).abs() <= 1e-6 + 1e-5 * x.abs()).flatten(-2).all(-1)


def _smallest(x: Tensor) -> Tensor:
    """The smallest eigenvalue of each matrix, or -1 where it is not symmetric."""
    from mytorch.linalg import eigvalsh

    values = eigvalsh(x.detach())[..., 0]
    return values.where(_symmetric(x), values * 0 - 1)

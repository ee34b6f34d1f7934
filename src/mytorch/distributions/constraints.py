"""What a parameter or a value must satisfy: constraint.check(tensor) says so for every event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mytorch.tensor import Tensor


class Constraint:
    """A rule with torch's name; event_dim is how many last dimensions make one event."""

    def __init__(self, name: str, rule: Callable[[Tensor], Tensor], event_dim: int = 0, is_discrete: bool = False):
        self.name, self._rule, self.event_dim, self.is_discrete = name, rule, event_dim, is_discrete

    def check(self, value: Tensor) -> Tensor:
        return self._rule(value)

    def __repr__(self) -> str:
        return self.name


def greater_than(lower_bound: Any) -> Constraint:
    return Constraint(f"GreaterThan(lower_bound={lower_bound})", lambda x: x > lower_bound)


def greater_than_eq(lower_bound: Any) -> Constraint:
    return Constraint(f"GreaterThanEq(lower_bound={lower_bound})", lambda x: x >= lower_bound)


def less_than(upper_bound: Any) -> Constraint:
    return Constraint(f"LessThan(upper_bound={upper_bound})", lambda x: x < upper_bound)


def interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    name = f"Interval(lower_bound={lower_bound}, upper_bound={upper_bound})"
    return Constraint(name, lambda x: (x >= lower_bound) & (x <= upper_bound))


def integer_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    name = f"IntegerInterval(lower_bound={lower_bound}, upper_bound={upper_bound})"
    return Constraint(name, lambda x: (x % 1 == 0) & (x >= lower_bound) & (x <= upper_bound), 0, True)


def independent(base: Constraint, dims: int) -> Constraint:
    """The base's rule for all of the last dims dimensions at once."""
    if not dims:
        return base
    return Constraint(
        f"IndependentConstraint({base.name}, {dims})",
        lambda x: base.check(x).flatten(-dims).all(-1),
        base.event_dim + dims,
        base.is_discrete,
    )


real = Constraint("Real()", lambda x: x == x)
real_vector = Constraint("IndependentConstraint(Real(), 1)", lambda x: (x == x).all(-1), 1)
positive = greater_than(0.0)
nonnegative = greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
boolean = Constraint("Boolean()", lambda x: (x == 0) | (x == 1), 0, True)
nonnegative_integer = Constraint("IntegerGreaterThan(lower_bound=0)", lambda x: (x % 1 == 0) & (x >= 0), 0, True)
simplex = Constraint("Simplex()", lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6), 1)
one_hot = Constraint("OneHot()", lambda x: ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1), 1, True)
lower_cholesky = Constraint(
    "LowerCholesky()", lambda x: (x.tril() == x).flatten(-2).all(-1) & (x.diagonal(0, -2, -1) > 0).all(-1), 2
)

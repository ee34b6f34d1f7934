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


def half_open_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    name = f"HalfOpenInterval(lower_bound={lower_bound}, upper_bound={upper_bound})"
    return Constraint(name, lambda x: (x >= lower_bound) & (x < upper_bound))


def multinomial(upper_bound: int) -> Constraint:
    return Constraint(
        f"Multinomial(upper_bound={upper_bound})", lambda x: (x >= 0).all(-1) & (x.sum(-1) <= upper_bound), 1, True
    )


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
positive_integer = Constraint("IntegerGreaterThan(lower_bound=1)", lambda x: (x % 1 == 0) & (x >= 1), 0, True)
nonnegative_integer = Constraint("IntegerGreaterThan(lower_bound=0)", lambda x: (x % 1 == 0) & (x >= 0), 0, True)
simplex = Constraint("Simplex()", lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6), 1)
one_hot = Constraint("OneHot()", lambda x: ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1), 1, True)
lower_cholesky = Constraint(
    "LowerCholesky()", lambda x: (x.tril() == x).flatten(-2).all(-1) & (x.diagonal(0, -2, -1) > 0).all(-1), 2
)
lower_triangular = Constraint("LowerTriangular()", lambda x: (x.tril() == x).flatten(-2).all(-1), 2)
square = Constraint("Square()", lambda x: (x[..., 0, 0] == x[..., 0, 0]) & (x.shape[-1] == x.shape[-2]), 2)
symmetric = Constraint("Symmetric()", lambda x: _symmetric(x), 2)
positive_semidefinite = Constraint("PositiveSemidefinite()", lambda x: _smallest(x) >= 0, 2)
positive_definite = Constraint("PositiveDefinite()", lambda x: _smallest(x) > 0, 2)


def _symmetric(x: Tensor) -> Tensor:
    return ((x - x.transpose(-2, -1)).abs() <= 1e-6 + 1e-5 * x.abs()).flatten(-2).all(-1)


def _smallest(x: Tensor) -> Tensor:
    """The smallest eigenvalue of each matrix, or -1 where it is not symmetric."""
    from mytorch.linalg import eigvalsh

    values = eigvalsh(x.detach())[..., 0]
    return values.where(_symmetric(x), values * 0 - 1)

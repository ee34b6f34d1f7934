"""Distribution: what all of them share. sample() has no gradients; rsample() has them where that is possible."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

import mytorch as torch
from mytorch.autograd import no_grad
from mytorch.dtypes import Size, default
from mytorch.tensor import Tensor

from . import constraints


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors and numbers as tensors of one common shape and type."""
    kinds = [value._array.dtype for value in values if isinstance(value, Tensor)]
    kind = np.result_type(*kinds) if kinds else default()
    made = [value if isinstance(value, Tensor) else Tensor(np.asarray(value, kind)) for value in values]
    shape = np.broadcast_shapes(*(value._array.shape for value in made))
    return tuple(value.expand(shape) if value._array.shape != shape else value for value in made)


class Distribution:
    """batch_shape: how many distributions there are; event_shape: the shape of one drawn value."""

    has_rsample = False
    has_enumerate_support = False
    arg_constraints: ClassVar[dict[str, Any]] = {}
    support: Any = None
    _derived: ClassVar[tuple[str, ...]] = ()  # tensors that are no parameters and have the batch's shape as well
    _validate_args = True

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, rule in self.arg_constraints.items():
                self._require(name, rule)

    def _require(self, name: str, rule: constraints.Constraint) -> None:
        value = self.__dict__.get(name)
        if isinstance(value, Tensor) and not bool(rule.check(value.detach()).all()):
            raise ValueError(
                f"Expected parameter {name} (Tensor of shape {tuple(value.shape)}) of distribution {self!r} to "
                f"satisfy the constraint {rule!r}, but found invalid values:\n{value}"
            )

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        Distribution._validate_args = value

    @property
    def batch_shape(self) -> Size:
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        return self._event_shape

    @property
    def mean(self) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no mean")

    @property
    def mode(self) -> Tensor:
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no variance")

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no rsample: its draws have no gradient")

    def sample_n(self, n: int) -> Tensor:
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no cdf")

    def icdf(self, value: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no icdf")

    def entropy(self) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no entropy")

    def perplexity(self) -> Tensor:
        return torch.exp(self.entropy())

    def enumerate_support(self, expand: bool = True) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no enumerate_support")

    def expand(self, batch_shape: Any, _instance: Any = None) -> Distribution:
        """The same distribution with its parameters repeated to a batch shape."""
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__dict__)
        for name in (*self.arg_constraints, *self._derived):
            value = self.__dict__.get(name)
            if isinstance(value, Tensor):
                own = value._array.shape[len(self._batch_shape) :]
                new.__dict__[name] = value.expand(*batch_shape, *own)
        new._batch_shape = Size(batch_shape)
        return new

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        events = len(self._event_shape)
        if events and value._array.shape[value._array.ndim - events :] != tuple(self._event_shape):
            raise ValueError(
                f"The right-most size of value must match event_shape: {tuple(value.shape)} vs {self._event_shape}."
            )
        whole = (*self._batch_shape, *self._event_shape)
        if any(1 not in (n, m) and n != m for n, m in zip(value._array.shape[::-1], whole[::-1])):
            raise ValueError(
                f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {Size(whole)}."
            )
        rule = self.support
        if self._validate_args and rule is not None and not bool(rule.check(value.detach()).all()):
            raise ValueError(
                f"Expected value argument (Tensor of shape {tuple(value.shape)}) to be within the support "
                f"({rule!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        parts = []
        for name in self.arg_constraints:
            value = self.__dict__.get(name)
            if isinstance(value, Tensor):
                parts.append(f"{name}: {value if value._array.size == 1 else value.size()}")
        return f"{type(self).__name__}({', '.join(parts)})"


class ExponentialFamily(Distribution):
    """The distributions torch counts among the exponential families."""

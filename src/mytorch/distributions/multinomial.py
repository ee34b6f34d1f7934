"""Multinomial: how often each class comes in several draws."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

import mytorch as torch
from mytorch.random import numpy_generator
from mytorch.tensor import Tensor

from . import constraints
from .discrete import Binomial, Categorical
from .distribution import Distribution, broadcast_all


class Multinomial(Distribution):
    """How often each class comes in total_count draws."""

    arg_constraints: ClassVar[dict[str, Any]] = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count, self._one = total_count, Categorical(probs, logits)
        super().__init__(self._one.batch_shape, self._one.probs.shape[-1:], validate_args)

    @property
    def support(self) -> constraints.Constraint:  # type: ignore[override]
        return constraints.multinomial(self.total_count)

    @property
    def probs(self) -> Tensor:
        return self._one.probs

    @property
    def logits(self) -> Tensor:
        return self._one.logits

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Distribution:
        new: Any = super().expand(batch_shape)
        new._one = self._one.expand(batch_shape)
        return new

    def entropy(self) -> Tensor:
        """Includes a sum over all counts that a class can have."""
        n = torch.full((), float(self.total_count))
        counts = Binomial(self.total_count, self.probs, validate_args=False)
        support = counts.enumerate_support(False)[1:]
        repeated = (torch.exp(counts.log_prob(support)) * torch.lgamma(support + 1)).sum((0, -1))
        return n * self._one.entropy() - torch.lgamma(n + 1) + repeated

    def sample(self, sample_shape: Any = ()) -> Tensor:
        probs = self.probs.detach()._array.astype(np.float64)
        shape = tuple(self._extended_shape(sample_shape))
        shares = np.broadcast_to(probs / probs.sum(-1, keepdims=True), shape)
        return Tensor(np.asarray(numpy_generator().multinomial(self.total_count, shares), self.probs._array.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -float("inf")), 0)
        return torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1) + (logits * value).sum(-1)

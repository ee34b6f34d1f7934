"""Discrete distributions: Bernoulli, Categorical, OneHotCategorical, Binomial and the like."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

import mytorch as torch
from mytorch.nn.functional import binary_cross_entropy_with_logits, logsigmoid
from mytorch.random import numpy_generator
from mytorch.tensor import Tensor

from . import constraints
from .distribution import Distribution, ExponentialFamily, broadcast_all


def _one_of(name: str, probs: Any, logits: Any) -> None:
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


def _clamped(probs: Tensor) -> Tensor:
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


class _Binary(ExponentialFamily):
    """One probability each, given as probs or as logits; the other is computed when asked for."""

    arg_constraints: ClassVar[dict[str, Any]] = {"probs": constraints.unit_interval, "logits": constraints.real}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        _one_of("Bernoulli", probs, logits)
        name, value = ("probs", probs) if logits is None else ("logits", logits)
        (self.__dict__[name],) = broadcast_all(value)
        super().__init__(self.__dict__[name].shape, (), validate_args)

    def __getattr__(self, name: str) -> Any:
        if name == "probs":
            return torch.sigmoid(self.__dict__["logits"])
        if name == "logits":
            probs = _clamped(self.__dict__["probs"])
            return probs.log() - (-probs).log1p()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class Bernoulli(_Binary):
    support = constraints.boolean
    has_enumerate_support = True

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        likely = (self.probs >= 0.5).to(self.probs.dtype)
        return likely.masked_fill(self.probs == 0.5, float("nan"))

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return torch.bernoulli(self.probs.detach().expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = torch.arange(2, dtype=self.probs.dtype).view(-1, *[1] * len(self._batch_shape))
        return values.expand(2, *self._batch_shape) if expand else values


class Geometric(_Binary):
    """The number of failures before the first success."""

    support = constraints.nonnegative_integer

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return torch.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Tensor:
        probs = self.probs.detach()
        u = torch.rand(self._extended_shape(sample_shape), dtype=probs.dtype).clamp(min=torch.finfo(probs.dtype).tiny)
        return (u.log() / (-probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        return value * (-_clamped(probs)).log1p() + probs.log()

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs


class Binomial(_Binary):
    """The number of successes in total_count trials."""

    arg_constraints: ClassVar[dict[str, Any]] = {
        "total_count": constraints.nonnegative_integer,
        **_Binary.arg_constraints,
    }
    has_enumerate_support = True

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(probs, logits, validate_args)
        name = "probs" if logits is None else "logits"
        self.total_count, self.__dict__[name] = broadcast_all(total_count, self.__dict__[name])
        self._batch_shape = self.total_count.shape

    @property
    def support(self) -> constraints.Constraint:  # type: ignore[override]
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().minimum(self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape, probs = self._extended_shape(sample_shape), self.probs.detach()._array
        counts = self.total_count._array.astype(np.int64)
        return Tensor(np.asarray(numpy_generator().binomial(counts, probs, shape), probs.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        n, logits = self.total_count, self.logits
        choose = torch.lgamma(n + 1) - torch.lgamma(value + 1) - torch.lgamma(n - value + 1)
        # log(1 + exp(logits)), safe for large logits of either sign
        softplus = logits.clamp(min=0) + torch.log1p(torch.exp(-logits.abs()))
        return choose + value * logits - n * softplus

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self.total_count._array
        if count.size and (count != count.flat[0]).any():
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = torch.arange(1 + int(count.flat[0]), dtype=self.total_count.dtype)
        values = values.view(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values

    def entropy(self) -> Tensor:
        log = self.log_prob(self.enumerate_support(False))
        return -(torch.exp(log) * log).sum(0)


class NegativeBinomial(_Binary):
    """The number of successes, each with probability probs, before total_count failures."""

    arg_constraints: ClassVar[dict[str, Any]] = {
        "total_count": constraints.nonnegative,
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(probs, logits, validate_args)
        name = "probs" if logits is None else "logits"
        self.total_count, self.__dict__[name] = broadcast_all(total_count, self.__dict__[name])
        self._batch_shape = self.total_count.shape

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / torch.sigmoid(-self.logits)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape, probs = self._extended_shape(sample_shape), self.probs.detach()._array
        drawn = numpy_generator().negative_binomial(self.total_count.detach()._array, 1 - probs, shape)
        return Tensor(np.asarray(drawn, probs.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        n = self.total_count
        choose = torch.lgamma(n + value) - torch.lgamma(1 + value) - torch.lgamma(n)
        return n * logsigmoid(-self.logits) + value * logsigmoid(self.logits) + choose


class _Classes(Distribution):
    """Probabilities of several classes, given as probs (normalised here) or as logits."""

    arg_constraints: ClassVar[dict[str, Any]] = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        _one_of(type(self).__name__, probs, logits)
        given = probs if logits is None else logits
        if given._array.ndim < 1:
            raise ValueError(f"`{'probs' if logits is None else 'logits'}` parameter must be at least one-dimensional.")
        if logits is None:
            self.__dict__["probs"] = probs / probs.sum(-1, keepdim=True)
        else:
            self.__dict__["logits"] = logits - logits.logsumexp(-1, keepdim=True)
        super().__init__(given.shape[:-1], self._events(given), validate_args)

    def _events(self, given: Tensor) -> Any:
        return ()

    def __getattr__(self, name: str) -> Any:
        if name == "probs":
            return torch.softmax(self.__dict__["logits"], -1)
        if name == "logits":
            return _clamped(self.__dict__["probs"]).log()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def _num_events(self) -> int:
        return self.param_shape[-1]

    @property
    def param_shape(self) -> Any:
        return self.__dict__["probs" if "probs" in self.__dict__ else "logits"].shape

    def _draw(self, sample_shape: Any) -> Tensor:
        probs = self.probs.detach().reshape(-1, self._num_events)
        count = int(np.prod(sample_shape, dtype=int))
        rows = torch.multinomial(probs, count, True).T  # (draws, distributions)
        return rows.reshape(*sample_shape, *self._batch_shape)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=torch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)


class Categorical(_Classes):
    """A class's number."""

    has_enumerate_support = True

    @property
    def support(self) -> constraints.Constraint:  # type: ignore[override]
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        return torch.full(self._batch_shape, float("nan"), dtype=self.probs.dtype)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        return self.mean

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self._draw(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        index = value.long().unsqueeze(-1)
        shape = np.broadcast_shapes(index._array.shape[:-1], tuple(self._batch_shape))
        return self.logits.expand(*shape, self._num_events).gather(-1, index.expand(*shape, 1)).squeeze(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = torch.arange(self._num_events).view(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values


class OneHotCategorical(_Classes):
    """A class as a one-hot vector."""

    support = constraints.one_hot
    has_enumerate_support = True

    def _events(self, given: Tensor) -> Any:
        return given.shape[-1:]

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return torch.nn.functional.one_hot(self.probs.argmax(-1), self._num_events).to(self.probs.dtype)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return torch.nn.functional.one_hot(self._draw(sample_shape), self._num_events).to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return (value * self.logits).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self._num_events
        values = torch.eye(n, dtype=self.probs.dtype).view(n, *[1] * len(self._batch_shape), n)
        return values.expand(n, *self._batch_shape, n) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """Draws whose gradient is that of the probabilities."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Poisson(ExponentialFamily):
    arg_constraints: ClassVar[dict[str, Any]] = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Any = ()) -> Tensor:
        rate = self.rate.detach()._array
        return Tensor(np.asarray(numpy_generator().poisson(rate, self._extended_shape(sample_shape)), rate.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - torch.lgamma(value + 1)

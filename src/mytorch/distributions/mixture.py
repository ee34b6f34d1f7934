"""MixtureSameFamily, and the relaxed forms of Bernoulli and one-hot draws, which have gradients."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import mytorch as torch
from mytorch.random import rand
from mytorch.tensor import Tensor

from . import constraints
from .discrete import Categorical
from .distribution import Distribution, broadcast_all


class MixtureSameFamily(Distribution):
    """The last batch dimension of component_distribution holds the components, which a Categorical chooses from."""

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Any, validate_args: bool | None = None
    ):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        self.mixture_distribution, self.component_distribution = mixture_distribution, component_distribution
        super().__init__(component_distribution.batch_shape[:-1], component_distribution.event_shape, validate_args)

    @property
    def support(self) -> Any:  # type: ignore[override]
        return self.component_distribution.support

    def expand(self, batch_shape: Any, _instance: Any = None) -> Distribution:
        new: Any = super().expand(batch_shape)
        new.component_distribution = self.component_distribution.expand(
            (*batch_shape, self.component_distribution.batch_shape[-1])
        )
        new.mixture_distribution = self.mixture_distribution.expand(batch_shape)
        return new

    def cdf(self, value: Tensor) -> Tensor:
        each = self.component_distribution.cdf(value.unsqueeze(self._component_dim))
        return (each * self.mixture_distribution.probs).sum(-1)

    def _shares(self) -> Tensor:
        probs = self.mixture_distribution.probs
        return probs.reshape(*probs.shape, *[1] * len(self._event_shape))

    @property
    def _component_dim(self) -> int:
        return -1 - len(self._event_shape)

    @property
    def mean(self) -> Tensor:
        return (self._shares() * self.component_distribution.mean).sum(self._component_dim)

    @property
    def variance(self) -> Tensor:
        inside = (self._shares() * self.component_distribution.variance).sum(self._component_dim)
        away = self.component_distribution.mean - self.mean.unsqueeze(self._component_dim)
        return inside + (self._shares() * away.pow(2)).sum(self._component_dim)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with torch.no_grad():
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            ones = [1] * (len(self._event_shape) + 1)
            index = chosen.reshape(*chosen.shape, *ones)
            index = index.expand(*chosen.shape, 1, *self._event_shape)
            return drawn.gather(self._component_dim, index).squeeze(self._component_dim)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        each = self.component_distribution.log_prob(value.unsqueeze(self._component_dim))
        return torch.logsumexp(each + torch.log_softmax(self.mixture_distribution.logits, -1), -1)


class RelaxedOneHotCategorical(Distribution):
    """Gumbel-softmax: nearly one-hot vectors; the lower the temperature, the closer to one-hot."""

    has_rsample = True
    arg_constraints: ClassVar[dict[str, Any]] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._base = Categorical(probs, logits)
        self.temperature = temperature
        self.logits, self.probs = self._base.logits, self._base.probs
        super().__init__(self._base.batch_shape, self.logits.shape[-1:], validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        eps = torch.finfo(self.logits.dtype).eps
        u = rand(self._extended_shape(sample_shape), dtype=self.logits.dtype).clamp(eps, 1 - eps)
        return torch.softmax((self.logits - (-u.log()).log()) / self.temperature, -1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        k, t = logits.shape[-1], self.temperature
        t = t if isinstance(t, Tensor) else torch.full((), float(t), dtype=logits.dtype)
        scale = torch.lgamma(torch.full_like(t, float(k))) + (k - 1) * t.log()
        score = logits - t * value.log()
        score = (score - score.logsumexp(-1, keepdim=True)).sum(-1)
        return score - value.log().sum(-1) + scale


class RelaxedBernoulli(Distribution):
    """Values near 0 or 1; the lower the temperature, the nearer."""

    has_rsample = True
    arg_constraints: ClassVar[dict[str, Any]] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self.temperature = temperature
        if logits is None:
            (self.probs,) = broadcast_all(probs)
            self.logits = torch.logit(self.probs)
        else:
            (self.logits,) = broadcast_all(logits)
            self.probs = torch.sigmoid(self.logits)
        super().__init__(self.logits.shape, (), validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        eps = torch.finfo(self.logits.dtype).eps
        u = rand(self._extended_shape(sample_shape), dtype=self.logits.dtype).clamp(eps, 1 - eps)
        return torch.sigmoid((u.log() - (-u).log1p() + self.logits) / self.temperature)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        t = self.temperature
        y = torch.logit(value)
        away = self.logits - y * t
        log_t = t.log() if isinstance(t, Tensor) else math.log(t)
        return log_t + away - 2 * torch.log1p(away.exp()) - value.log() - (-value).log1p()

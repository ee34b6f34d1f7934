"""kl_divergence of two different families: minus the entropy of p and its mean of log q, or infinity."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mytorch as torch
from mytorch.tensor import Tensor

from .discrete import Bernoulli, Binomial, Poisson
from .distribution import broadcast_all
from .gamma import Beta, Exponential, Gamma
from .kl import register_kl
from .location import EULER, Gumbel, Laplace, Normal, Uniform
from .tails import Pareto

# p gives values that q does not: the divergence is infinite whatever the parameters
INFINITE: dict[type, tuple[type, ...]] = {
    Beta: (Pareto,),
    Exponential: (Beta, Pareto, Uniform),
    Gamma: (Beta, Pareto, Uniform),
    Gumbel: (Beta, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, Uniform),
    Poisson: (Bernoulli, Binomial),
}


def _infinite(p: Any, q: Any) -> Tensor:
    return torch.full_like(broadcast_all(p.mean, q.mean)[0], math.inf)


for _p, _qs in INFINITE.items():
    for _q in _qs:
        register_kl(_p, _q)(_infinite)


# means under p: of log x, and of exp(t x)


def _mean_log(low: Tensor, high: Tensor) -> Tensor:
    """Of a uniform variable."""
    return (torch.xlogy(high, high) - torch.xlogy(low, low)) / (high - low) - 1


MEAN_LOG: dict[type, Callable] = {
    Beta: lambda p: torch.digamma(p.concentration1) - torch.digamma(p.concentration1 + p.concentration0),
    Exponential: lambda p: -EULER - p.rate.log(),
    Gamma: lambda p: torch.digamma(p.concentration) - p.rate.log(),
    Pareto: lambda p: p.scale.log() + 1 / p.alpha,
    Uniform: lambda p: _mean_log(p.low, p.high),
}
MEAN_EXP: dict[type, Callable] = {
    Exponential: lambda p, t: p.rate / (p.rate - t),
    Gamma: lambda p, t: (1 - t / p.rate).pow(-p.concentration),
    Normal: lambda p, t: torch.exp(p.loc * t + (p.scale * t).pow(2) / 2),
    Uniform: lambda p, t: ((t * p.high).exp() - (t * p.low).exp()) / (t * (p.high - p.low)),
}


def _of(table: dict[type, Callable], p: Any) -> Callable:
    return next(function for kind, function in table.items() if isinstance(p, kind))


# the mean of log q(x) under p


def _log_exponential(p: Any, q: Exponential) -> Tensor:
    return q.rate.log() - q.rate * p.mean


def _log_gamma(p: Any, q: Gamma) -> Tensor:
    a, b = q.concentration, q.rate
    return a * b.log() - torch.lgamma(a) + (a - 1) * _of(MEAN_LOG, p)(p) - b * p.mean


def _log_normal(p: Any, q: Normal) -> Tensor:
    away = p.variance + (p.mean - q.loc).pow(2)
    return -0.5 * math.log(2 * math.pi) - q.scale.log() - away / (2 * q.scale.pow(2))


def _log_gumbel(p: Any, q: Gumbel) -> Tensor:
    tail = torch.exp(q.loc / q.scale) * _of(MEAN_EXP, p)(p, -1 / q.scale)
    return -q.scale.log() - (p.mean - q.loc) / q.scale - tail


def _log_uniform(p: Beta, q: Uniform) -> Tensor:
    return -(q.high - q.low).log()


def _log_laplace(p: Normal, q: Laplace) -> Tensor:
    away = (p.loc - q.loc) / p.scale
    distance = p.scale * math.sqrt(2 / math.pi) * torch.exp(-away.pow(2) / 2)
    distance = distance + (p.loc - q.loc) * torch.erf(away / math.sqrt(2))
    return -(2 * q.scale).log() - distance / q.scale


def _log_beta(p: Uniform, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    norm = torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)
    return (a - 1) * _mean_log(p.low, p.high) + (b - 1) * _mean_log(1 - p.high, 1 - p.low) - norm


def _log_pareto(p: Uniform, q: Pareto) -> Tensor:
    return q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log(p.low, p.high)


def _log_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return p.probs * q.rate.log() - q.rate


MEAN_LOG_DENSITY: dict[type, tuple[Callable, tuple[type, ...]]] = {  # of q, for these p
    Exponential: (_log_exponential, (Beta, Gamma, Pareto, Uniform)),
    Gamma: (_log_gamma, (Beta, Exponential, Pareto, Uniform)),
    Normal: (_log_normal, (Beta, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform)),
    Gumbel: (_log_gumbel, (Exponential, Gamma, Normal, Uniform)),
    Uniform: (_log_uniform, (Beta,)),
    Laplace: (_log_laplace, (Normal,)),
    Beta: (_log_beta, (Uniform,)),
    Pareto: (_log_pareto, (Uniform,)),
    Poisson: (_log_poisson, (Bernoulli,)),
}


def _outside(p: Any, q: Any) -> Tensor | None:
    """Where p has values that q cannot have. Among these pairs this happens only if one of the two is a Uniform."""
    if isinstance(q, Uniform):
        return (q.low > 0) | (q.high < 1)
    if not isinstance(p, Uniform) or isinstance(q, (Normal, Gumbel)):
        return None
    low = q.scale if isinstance(q, Pareto) else 0.0
    return (p.low < low) | (p.high > 1) if isinstance(q, Beta) else p.low < low


def _by_means(mean_log_density: Callable) -> Callable:
    def divergence(p: Any, q: Any) -> Tensor:
        value, outside = -p.entropy() - mean_log_density(p, q), _outside(p, q)
        return value if outside is None else value.masked_fill(outside, math.inf)

    return divergence


for _q, (_mean, _ps) in MEAN_LOG_DENSITY.items():
    for _p in _ps:
        register_kl(_p, _q)(_by_means(_mean))

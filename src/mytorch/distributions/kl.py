"""kl_divergence(p, q): closed forms, chosen by the two types; register_kl adds one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mytorch as torch
from mytorch.tensor import Tensor

from .discrete import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from .distribution import Distribution
from .gamma import Beta, Dirichlet, Exponential, Gamma
from .location import EULER, Cauchy, Gumbel, HalfNormal, Laplace, LogNormal, Normal, Uniform
from .multivariate import Independent, MultivariateNormal, sum_rightmost
from .tails import HalfCauchy, Pareto
from .transformed import TransformedDistribution

_REGISTRY: dict[tuple[type, type], Callable] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Callable], Callable]:
    def decorator(function: Callable) -> Callable:
        _REGISTRY[type_p, type_q] = function
        return function

    return decorator


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The most specific of the registered pairs that fit is used."""
    fitting = [(a, b) for a, b in _REGISTRY if isinstance(p, a) and isinstance(q, b)]
    if not fitting:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    best = max(fitting, key=lambda pair: (len(pair[0].__mro__), len(pair[1].__mro__)))
    return _REGISTRY[best](p, q)


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(LogNormal, LogNormal)
def _log_normal(p: LogNormal, q: LogNormal) -> Tensor:
    return _normal(p._log, q._log)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    softplus = torch.nn.functional.softplus
    yes = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    no = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    yes = yes.masked_fill(q.probs == 0, float("inf")).masked_fill(p.probs == 0, 0)
    return yes + no.masked_fill(q.probs == 1, float("inf")).masked_fill(p.probs == 1, 0)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    t = p.probs * (p.logits - q.logits)
    t = t.masked_fill((q.probs == 0).expand(*t.shape), float("inf"))
    return t.masked_fill((p.probs == 0).expand(*t.shape), 0).sum(-1)


register_kl(OneHotCategorical, OneHotCategorical)(_categorical)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return result.masked_fill((q.low > p.low) | (q.high < p.high), float("inf"))


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + away / q.scale + ratio * torch.exp(-away / p.scale) - 1


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    t = b * (p.rate / q.rate).log() + torch.lgamma(b) - torch.lgamma(a)
    return t + (a - b) * torch.digamma(a) + (q.rate - p.rate) * (a / p.rate)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    t = torch.lgamma(total) - torch.lgamma(b.sum(-1)) - (torch.lgamma(a) - torch.lgamma(b)).sum(-1)
    return t + ((a - b) * (torch.digamma(a) - torch.digamma(total).unsqueeze(-1))).sum(-1)


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    softplus = torch.nn.functional.softplus
    t = p.total_count * (p.probs * (p.logits - q.logits) + softplus(q.logits) - softplus(p.logits))
    return t.masked_fill(p.total_count > q.total_count, math.inf)  # p gives values that q does not


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, away = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return -ratio.log() + EULER * (ratio - 1) + away + torch.exp(torch.lgamma(1 + ratio) - away) - 1


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio - 1 - ratio.log())


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    between = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return between.log() - (4 * p.scale * q.scale).log()


@register_kl(HalfCauchy, HalfCauchy)
def _half_cauchy(p: HalfCauchy, q: HalfCauchy) -> Tensor:
    return _cauchy(p._whole(), q._whole())


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    t = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return t.masked_fill(p.scale < q.scale, math.inf)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    """The same transforms of both values change nothing."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("KL of TransformedDistribution needs the same transforms and event_shape in both")
    own = kl_divergence(p.base_dist, q.base_dist)
    return sum_rightmost(own, len(p.event_shape) - len(p.base_dist.event_shape))


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("KL of Independent needs the same reinterpreted_batch_ndims in both")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    inverse = torch.linalg.inv(q.scale_tril)
    ratio = inverse @ p.scale_tril
    away = (inverse @ (q.loc - p.loc).unsqueeze(-1)).squeeze(-1)
    spread = ratio.pow(2).sum(-1).sum(-1) + away.pow(2).sum(-1)
    return q._half_log_det() - p._half_log_det() + 0.5 * (spread - p.event_shape[0])

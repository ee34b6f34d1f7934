"""torch.distributions: drawing, densities, entropies and divergences."""

from mytorch.absent import Absent

from . import constraints, transforms
from .discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    Multinomial,
    NegativeBinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
    Poisson,
)
from .distribution import Distribution, ExponentialFamily
from .gamma import Beta, Chi2, Dirichlet, Exponential, Gamma, StudentT
from .kl import kl_divergence, register_kl
from .location import Cauchy, Gumbel, HalfNormal, Laplace, LogNormal, Normal, Uniform
from .mixture import MixtureSameFamily, RelaxedBernoulli, RelaxedOneHotCategorical
from .multivariate import Independent, MultivariateNormal
from .tails import HalfCauchy, Pareto, Weibull
from .transforms import (
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    SigmoidTransform,
    TanhTransform,
    Transform,
    TransformedDistribution,
)

__all__ = [
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "Gamma",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "Laplace",
    "LogNormal",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "SigmoidTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "Weibull",
    "constraints",
    "kl_divergence",
    "register_kl",
    "transforms",
]


def __getattr__(name: str) -> Absent:
    """A distribution that is not here can be imported; making one says so."""
    if not name[0].isupper():
        raise AttributeError(f"module 'torch.distributions' has no attribute '{name}'")
    return Absent(f"torch.distributions.{name}")

"""torch.distributions: drawing, densities, entropies and divergences."""

from mytorch.absent import Absent

from . import constraints, kl_pairs, transforms  # noqa: F401  (kl_pairs registers what it has)
from .constraint_registry import biject_to, transform_to
from .discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
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
from .multinomial import Multinomial
from .multivariate import Independent, MultivariateNormal
from .tails import HalfCauchy, Pareto, Weibull
from .transformed import TransformedDistribution
from .transforms import (
    AbsTransform,
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from .wide_transforms import (
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    ReshapeTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)

_WIDE = (IndependentTransform, LowerCholeskyTransform, PositiveDefiniteTransform, ReshapeTransform, SoftmaxTransform)
for _transform in (*_WIDE, StickBreakingTransform):
    setattr(transforms, _transform.__name__, _transform)  # torch has them all in one module

__all__ = [
    "AbsTransform",
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
    "IndependentTransform",
    "Laplace",
    "LogNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "Weibull",
    "biject_to",
    "constraints",
    "identity_transform",
    "kl_divergence",
    "register_kl",
    "transform_to",
    "transforms",
]


def __getattr__(name: str) -> Absent:
    """A distribution that is not here can be imported; making one says so."""
    if not name[0].isupper():
        raise AttributeError(f"module 'torch.distributions' has no attribute '{name}'")
    return Absent(f"torch.distributions.{name}")

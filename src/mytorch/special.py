"""torch.special: functions of mathematical physics, under the names torch gives them here."""

from __future__ import annotations

from typing import Any

from .dtypes import unsupported
from .naming import public
from .ops import bessel, polynomials
from .ops.bessel import i0, i0e, i1, i1e
from .ops.composed import logit, xlog1py, xlogy
from .ops.gamma import digamma, lgamma, mvlgamma, polygamma, zeta
from .ops.gamma import igamma as gammainc
from .ops.gamma import igammac as gammaincc
from .ops.normal import erf, erfc, erfcx, erfinv, log_ndtr, ndtr, ndtri
from .ops.pointwise import exp2, expm1, log1p, round, sigmoid, sinc, where
from .ops.softmax import log_softmax, softmax
from .ops.statistics import logsumexp
from .tensor import Tensor

__all__ = [
    "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc", "gammaln",
    "i0", "i0e", "i1", "i1e", "log1p", "log_ndtr", "log_softmax", "logit", "logsumexp", "multigammaln", "ndtr",
    "ndtri", "polygamma", "psi", "round", "sinc", "softmax", "xlog1py", "xlogy", "zeta",
]  # fmt: skip

expit, gammaln, psi, multigammaln = sigmoid, lgamma, digamma, mvlgamma
globals().update({name: public(function) for name, function in bessel.SPECIAL.items()})
globals().update({name: public(function) for name, function in polynomials.FUNCTIONS.items()})


def entr(input: Tensor) -> Tensor:
    """-x log(x), 0 at 0 and -inf below."""
    positive = where(input > 0, input, input * 0 + 1)
    return where(input > 0, -input * positive.log(), where(input < 0, input * 0 - float("inf"), input * 0))


def __getattr__(name: str) -> Any:
    raise unsupported(f"torch.special.{name}")

"""Transforms: functions of random values that know their inverse and the logarithm of |dy/dx|.

A transform of one's own defines domain, codomain, bijective, _call, _inverse and log_abs_det_jacobian, as in torch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mytorch as torch
from mytorch.dtypes import Size
from mytorch.nn import functional as F
from mytorch.tensor import Tensor

from . import constraints
from .multivariate import sum_rightmost


class Transform:
    """y = t(x), x = t.inv(y). With cache_size=1 the last pair (x, y) is kept, so that t.inv(t(x)) is x itself."""

    bijective = False
    domain: Any = constraints.real
    codomain: Any = constraints.real
    _cache_size = 0
    _inv: Any = None
    _last: tuple[Any, Any] = (None, None)

    def __init__(self, cache_size: int = 0):
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        super().__init__()

    @property
    def event_dim(self) -> int:
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return self.domain.event_dim

    @property
    def inv(self) -> Transform:
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """1 if the function increases, -1 if it decreases; cdf needs it."""
        raise NotImplementedError(f"{type(self).__name__} has no sign: it does not rise or fall everywhere")

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __call__(self, x: Tensor) -> Tensor:
        if not self._cache_size:
            return self._call(x)
        if x is not self._last[0]:
            self._last = x, self._call(x)
        return self._last[1]

    def _inv_call(self, y: Tensor) -> Tensor:
        if not self._cache_size:
            return self._inverse(y)
        if y is not self._last[1]:
            self._last = self._inverse(y), y
        return self._last[0]

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} defines no _call(x)")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} defines no _inverse(y)")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} defines no log_abs_det_jacobian(x, y)")

    def forward_shape(self, shape: Any) -> Size:
        return Size(shape)

    def inverse_shape(self, shape: Any) -> Size:
        return Size(shape)

    def __eq__(self, other: object) -> bool:
        """The same kind of transform with equal parameters."""
        if type(self) is not type(other):
            return False
        if self is other or not type(self).__module__.startswith("mytorch."):
            return self is other
        mine, theirs = ({k: v for k, v in vars(t).items() if k not in _PRIVATE} for t in (self, other))
        return mine.keys() == theirs.keys() and all(map(_equal, mine.values(), theirs.values()))

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


_PRIVATE = ("_cache_size", "_inv", "_last", "domain", "codomain")


def _equal(a: Any, b: Any) -> bool:
    same = a == b
    return bool(same.all()) if isinstance(same, Tensor) else bool(same)


class _InverseTransform(Transform):
    """What t.inv is."""

    def __init__(self, transform: Transform):
        self._inv = transform

    bijective = property(lambda self: self._inv.bijective)  # type: ignore[assignment]
    domain = property(lambda self: self._inv.codomain)
    codomain = property(lambda self: self._inv.domain)
    sign = property(lambda self: self._inv.sign)

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Size:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Size:
        return self._inv.forward_shape(shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"


class _Rising(Transform):
    """Increasing functions of single numbers."""

    bijective = True
    sign = 1


class ExpTransform(_Rising):
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(_Rising):
    domain = codomain = constraints.positive

    def __init__(self, exponent: Any, cache_size: int = 0):
        super().__init__(cache_size)
        self.exponent = exponent

    @property
    def sign(self) -> Any:  # type: ignore[override]
        return self.exponent.sign() if isinstance(self.exponent, Tensor) else int(math.copysign(1, self.exponent))

    def with_cache(self, cache_size: int = 1) -> Transform:
        return PowerTransform(self.exponent, cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()


class SigmoidTransform(_Rising):
    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return torch.sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        limits = torch.finfo(y.dtype)
        y = y.clamp(limits.tiny, 1 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -F.softplus(-x) - F.softplus(x)


class SoftplusTransform(_Rising):
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return F.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -F.softplus(-x)


class TanhTransform(_Rising):
    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return torch.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))  # log(1 - tanh²), safe for large x


class AbsTransform(Transform):
    """Not bijective: the inverse is the positive number."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return AffineTransform(self.loc, self.scale, self._event_dim, cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = self.scale if isinstance(self.scale, Tensor) else torch.full_like(x, float(self.scale))
        return sum_rightmost(scale.abs().log().expand(x.shape), self._event_dim)

    def _shape(self, shape: Any) -> Size:
        parts = [tuple(part.shape) for part in (self.loc, self.scale) if isinstance(part, Tensor)]
        return torch.broadcast_shapes(tuple(shape), *parts)

    forward_shape = inverse_shape = _shape


class ComposeTransform(Transform):
    """Applies transforms one after the other; without any, it is the identity."""

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0):
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)

    bijective = property(lambda self: all(part.bijective for part in self.parts))  # type: ignore[assignment]
    sign = property(lambda self: math.prod(part.sign for part in self.parts))

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return _widened([(part.domain, part.codomain) for part in reversed(self.parts)])

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        return _widened([(part.codomain, part.domain) for part in self.parts])

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part.inv(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        total: Any = torch.zeros_like(x) if not self.parts else 0.0
        events = self.domain.event_dim
        for part in self.parts:
            out = part(x)
            total = total + sum_rightmost(part.log_abs_det_jacobian(x, out), events - part.domain.event_dim)
            events += part.codomain.event_dim - part.domain.event_dim
            x = out
        return total

    def forward_shape(self, shape: Any) -> Size:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return Size(shape)

    def inverse_shape(self, shape: Any) -> Size:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return Size(shape)

    def __repr__(self) -> str:
        listed = ",\n    ".join(repr(part) for part in self.parts)
        return f"{type(self).__name__}(\n    {listed}\n)"


def _widened(ends: list[tuple[Any, Any]]) -> Any:
    """The end of a chain, given each part's (outer, inner) constraints from the other end on; its events are as large
    as the largest on the way."""
    if not ends:
        return constraints.real
    events = ends[0][1].event_dim
    for outer, inner in ends:
        events = max(events, inner.event_dim) + outer.event_dim - inner.event_dim
    last = ends[-1][0]
    return constraints.independent(last, events - last.event_dim) if events > last.event_dim else last


identity_transform = ComposeTransform([])

"""Random tensors from one NumPy generator (or a Generator of one's own). The streams are NumPy's, not torch's."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from .dtypes import default, require_cpu, to_numpy
from .naming import attach
from .ops.shape import sizes_of
from .tensor import Tensor


class Generator:
    """A stream of random numbers of its own."""

    def __init__(self, device: Any = "cpu"):
        require_cpu(device)
        self.device = device
        self.seed()

    def manual_seed(self, seed: int) -> Generator:
        self._seed = int(seed)
        self.numpy = np.random.Generator(np.random.PCG64(self._seed % 2**64))
        return self

    def seed(self) -> int:
        self.manual_seed(int(np.random.SeedSequence().generate_state(1, np.uint64)[0]))
        return self._seed

    def initial_seed(self) -> int:
        return self._seed

    def get_state(self) -> Tensor:
        """The whole state as a tensor of bytes."""
        text = json.dumps([self._seed, self.numpy.bit_generator.state])
        return Tensor(np.frombuffer(text.encode(), np.uint8).copy())

    def set_state(self, state: Tensor) -> Generator:
        self._seed, value = json.loads(state._array.tobytes().decode())
        self.numpy.bit_generator.state = value
        return self


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Seed the generator all random functions use."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    return default_generator.seed()


def initial_seed() -> int:
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, **_: Any) -> Iterator[None]:
    """Restores the random state on exit, so that numbers drawn inside do not change those drawn after."""
    before = default_generator.get_state()
    try:
        yield
    finally:
        if enabled:
            default_generator.set_state(before)


def numpy_generator(generator: Generator | None = None) -> np.random.Generator:
    """The NumPy generator behind a Generator, by default behind the common one."""
    return (default_generator if generator is None else generator).numpy


def _uniform(shape: Any, kind: np.dtype, generator: Any) -> np.ndarray:
    rng = numpy_generator(generator)
    if kind in (np.float32, np.float64):
        return np.asarray(rng.random(shape, kind))
    return np.asarray(rng.random(shape)).astype(kind)


def _normal(shape: Any, kind: np.dtype, generator: Any) -> np.ndarray:
    rng = numpy_generator(generator)
    if kind in (np.float32, np.float64):
        return np.asarray(rng.standard_normal(shape, kind))
    return np.asarray(rng.standard_normal(shape)).astype(kind)


def _made(array: np.ndarray, device: Any, requires_grad: bool) -> Tensor:
    require_cpu(device)
    return Tensor(array).requires_grad_(requires_grad)


def rand(
    *sizes: Any,
    size: Any = None,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **_: Any,
) -> Tensor:
    kind = default() if dtype is None else to_numpy(dtype)
    return _made(_uniform(sizes_of(sizes, size), kind, generator), device, requires_grad)


def randn(
    *sizes: Any,
    size: Any = None,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **_: Any,
) -> Tensor:
    kind = default() if dtype is None else to_numpy(dtype)
    return _made(_normal(sizes_of(sizes, size), kind, generator), device, requires_grad)


def rand_like(
    input: Tensor, *, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    kind = dtype or input._array.dtype
    return rand(input._array.shape, generator=generator, dtype=kind, device=device, requires_grad=requires_grad)


def randn_like(
    input: Tensor, *, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    kind = dtype or input._array.dtype
    return randn(input._array.shape, generator=generator, dtype=kind, device=device, requires_grad=requires_grad)


def randint(
    low: int = 0,
    high: Any = None,
    size: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **_: Any,
) -> Tensor:
    """randint(high, size) or randint(low, high, size), by position or by name."""
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    values = numpy_generator(generator).integers(low, high, tuple(size))
    return _made(np.asarray(values).astype(np.int64 if dtype is None else to_numpy(dtype)), device, requires_grad)


def randint_like(
    input: Tensor,
    low: int = 0,
    high: int | None = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **_: Any,
) -> Tensor:
    low, high = (0, low) if high is None else (low, high)
    kind = dtype or input._array.dtype
    where = {"device": device, "requires_grad": requires_grad}
    return randint(low, high, input._array.shape, generator=generator, dtype=kind, **where)


def randperm(
    n: int, *, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    order = numpy_generator(generator).permutation(n)
    return _made(order.astype(np.int64 if dtype is None else to_numpy(dtype)), device, requires_grad)


def bernoulli(input: Tensor, p: float | None = None, *, generator: Any = None) -> Tensor:
    """1 with the probability given at each place (or p everywhere)."""
    a = input._array
    return Tensor((_uniform(a.shape, np.dtype(np.float64), generator) < (a if p is None else p)).astype(a.dtype))


def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **_: Any,
) -> Tensor:
    m, s = [v._array if isinstance(v, Tensor) else v for v in (mean, std)]
    if np.any(np.asarray(s) < 0):
        raise RuntimeError(f"normal expects std >= 0.0, but found std {s}")
    shape = np.broadcast_shapes(np.shape(m), np.shape(s)) if size is None else sizes_of((size,))
    kind = next((v.dtype for v in (m, s) if isinstance(v, np.ndarray)), default()) if dtype is None else to_numpy(dtype)
    return _made(np.asarray(_normal(shape, kind, generator) * s + m, kind), device, requires_grad)


def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Indices drawn in proportion to the weights of each row."""
    rng = numpy_generator(generator)
    a = input._array
    if a.dtype.kind != "f":
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype}")
    if a.ndim not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, but got {a.ndim}")
    if num_samples <= 0:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples, but got {num_samples}")
    weights = np.atleast_2d(a.astype(np.float64))
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.sum(1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    rows = []
    for w in weights:
        if not replacement and num_samples > np.count_nonzero(w):
            raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
        rows.append(rng.choice(len(w), num_samples, replacement, w / w.sum()))
    out = np.asarray(rows, np.int64).reshape(len(weights), num_samples)
    return Tensor(out[0] if a.ndim == 1 else out)


def _filled(self: Tensor, array: np.ndarray) -> Tensor:
    return self.copy_(Tensor(np.asarray(array)))


def uniform_(self: Tensor, a: float = 0.0, to: float = 1.0, *, generator: Any = None) -> Tensor:
    if a > to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={a} > to={to}")
    return _filled(self, _uniform(self._array.shape, self._array.dtype, generator) * (to - a) + a)


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    return _filled(self, _normal(self._array.shape, self._array.dtype, generator) * std + mean)


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    p = p._array if isinstance(p, Tensor) else p
    return _filled(self, _uniform(self._array.shape, np.dtype(np.float64), generator) < p)


def random_(self: Tensor, low: int = 0, to: int | None = None, *, generator: Any = None) -> Tensor:
    low, to = (0, low or 2**24) if to is None else (low, to)
    return _filled(self, numpy_generator(generator).integers(low, to, self._array.shape))


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return _filled(self, numpy_generator(generator).exponential(1 / lambd, self._array.shape))


def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Tensor:
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    return _filled(self, numpy_generator(generator).standard_cauchy(self._array.shape) * sigma + median)


def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Tensor:
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    return _filled(self, numpy_generator(generator).lognormal(mean, std, self._array.shape))


def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    return _filled(self, numpy_generator(generator).geometric(p, self._array.shape))


attach(
    uniform_, normal_, bernoulli_, random_, exponential_, cauchy_, log_normal_, geometric_, bernoulli, multinomial
)  # fmt: skip

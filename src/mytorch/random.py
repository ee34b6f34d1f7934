"""Random tensors from one NumPy generator (or a Generator of one's own). The streams are NumPy's, not torch's."""

from __future__ import annotations

import json
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


def rand_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    return rand(input._array.shape, dtype=dtype or input._array.dtype, device=device, requires_grad=requires_grad)


def randn_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    return randn(input._array.shape, dtype=dtype or input._array.dtype, device=device, requires_grad=requires_grad)


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


def randint_like(input: Tensor, low: int, high: int | None = None) -> Tensor:
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, input._array.shape, dtype=input._array.dtype)


def randperm(n: int, *, generator: Any = None, dtype: Any = None, device: Any = None) -> Tensor:
    order = numpy_generator(generator).permutation(n)
    return _made(order.astype(np.int64 if dtype is None else to_numpy(dtype)), device, False)


def bernoulli(input: Tensor, p: float | None = None, *, generator: Any = None) -> Tensor:
    """1 with the probability given at each place (or p everywhere)."""
    a = input._array
    return Tensor((_uniform(a.shape, np.dtype(np.float64), generator) < (a if p is None else p)).astype(a.dtype))


def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None) -> Tensor:
    m, s = [v._array if isinstance(v, Tensor) else v for v in (mean, std)]
    shape = tuple(size) if size is not None else np.broadcast_shapes(np.shape(m), np.shape(s))
    kind = next((v.dtype for v in (m, s) if isinstance(v, np.ndarray)), default())
    return Tensor(np.asarray(_normal(shape, kind, generator) * s + m, kind))


def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Indices drawn in proportion to the weights of each row."""
    rng = numpy_generator(generator)
    weights = np.atleast_2d(input._array.astype(np.float64))
    rows = []
    for w in weights:
        if not replacement and num_samples > np.count_nonzero(w):
            raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
        rows.append(rng.choice(len(w), num_samples, replacement, w / w.sum()))
    out = np.asarray(rows, np.int64)
    return Tensor(out[0] if input._array.ndim == 1 else out)


def _filled(self: Tensor, array: np.ndarray) -> Tensor:
    return self.copy_(Tensor(np.asarray(array)))


def uniform_(self: Tensor, a: float = 0.0, b: float = 1.0, *, generator: Any = None) -> Tensor:
    return _filled(self, _uniform(self._array.shape, self._array.dtype, generator) * (b - a) + a)


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    return _filled(self, _normal(self._array.shape, self._array.dtype, generator) * std + mean)


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    p = p._array if isinstance(p, Tensor) else p
    return _filled(self, _uniform(self._array.shape, np.dtype(np.float64), generator) < p)


def random_(self: Tensor, low: int = 0, high: int | None = None, *, generator: Any = None) -> Tensor:
    low, high = (0, low or 2**24) if high is None else (low, high)
    return _filled(self, numpy_generator(generator).integers(low, high, self._array.shape))


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    return _filled(self, numpy_generator(generator).exponential(1 / lambd, self._array.shape))


attach(uniform_, normal_, bernoulli_, random_, exponential_, bernoulli, multinomial)

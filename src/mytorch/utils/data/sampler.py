"""Samplers: the order in which a loader takes a dataset's items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import numpy as np

from mytorch.creation import tensor
from mytorch.dtypes import float64
from mytorch.random import multinomial, randint, randperm
from mytorch.tensor import Tensor

Index = TypeVar("Index", covariant=True)


class Sampler(Generic[Index]):
    """A base class: subclasses define __iter__ and, where it is known, __len__."""

    def __init__(self, data_source: Any = None):
        pass

    def __iter__(self) -> Iterator[Index]:
        raise NotImplementedError(f"{type(self).__name__} defines no __iter__()")


class SequentialSampler(Sampler[int]):
    def __init__(self, data_source: Sized):
        self.data_source = data_source

    def parts(self) -> Iterator[np.ndarray]:
        yield np.arange(len(self.data_source))

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """A new shuffle each time; with replacement, or more items than there are, if asked."""

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Any = None,
    ):
        self.data_source, self.replacement, self._num_samples = data_source, replacement, num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def parts(self) -> Iterator[np.ndarray]:
        """The order piece by piece, so that no number of samples needs much memory."""
        count, left = len(self.data_source), self.num_samples
        while left > 0:
            if self.replacement:
                part = randint(0, count, (min(left, 1 << 16),), generator=self.generator)._array
            else:
                part = randperm(count, generator=self.generator)._array[:left]
            left -= len(part)
            yield part

    def __iter__(self) -> Iterator[int]:
        for part in self.parts():
            yield from part.tolist()

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order."""

    def __init__(self, indices: Sequence[int], generator: Any = None):
        self.indices, self.generator = indices, generator

    def parts(self) -> Iterator[np.ndarray]:
        yield np.asarray(self.indices)[randperm(len(self.indices), generator=self.generator)._array]

    def __iter__(self) -> Iterator[int]:
        for part in self.parts():
            yield from part.tolist()

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """num_samples indices, drawn in proportion to the weights."""

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Any = None):
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        self.weights = tensor(weights, dtype=float64) if not isinstance(weights, Tensor) else weights.double()
        if self.weights.ndim != 1:
            shape = tuple(self.weights.shape)
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {shape}")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of batch_size indices of another sampler; the last may be shorter or is dropped."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool):
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def arrays(self) -> Iterator[np.ndarray]:
        """The same batches as index arrays, where the sampler can give its order in pieces."""
        leftover = np.empty(0, np.int64)
        for part in self.sampler.parts():  # type: ignore[attr-defined]
            order = np.concatenate([leftover, part]) if len(leftover) else part
            whole = len(order) - len(order) % self.batch_size
            for start in range(0, whole, self.batch_size):
                yield order[start : start + self.batch_size]
            leftover = order[whole:]
        if len(leftover) and not self.drop_last:
            yield leftover

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

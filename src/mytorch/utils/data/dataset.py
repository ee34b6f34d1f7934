"""Datasets: a length and items by number; tensors, parts and sums of datasets."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import Any, Generic, TypeVar

from mytorch.random import randperm
from mytorch.tensor import Tensor

Item = TypeVar("Item", covariant=True)


class Dataset(Generic[Item]):
    """A base class: subclasses define __getitem__ and, for most uses, __len__."""

    def __getitem__(self, index: Any) -> Item:
        raise NotImplementedError(f"{type(self).__name__} defines no __getitem__(index)")

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[Item]):
    """A dataset that is a stream: subclasses define __iter__."""

    def __iter__(self) -> Iterator[Item]:
        raise NotImplementedError(f"{type(self).__name__} defines no __iter__()")


class ChainDataset(IterableDataset[Item]):
    """Yields the items of several streams, one stream after the other."""

    def __init__(self, datasets: Iterable[Any]):
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Item]:
        return chain.from_iterable(self.datasets)

    def __len__(self) -> int:
        return sum(len(part) for part in self.datasets)


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Tensors of the same length; item i is the tuple of their rows i."""

    def __init__(self, *tensors: Tensor):
        if any(len(tensor) != len(tensors[0]) for tensor in tensors):
            raise AssertionError(f"Size mismatch between tensors: lengths {[len(tensor) for tensor in tensors]}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class StackDataset(Dataset[Any]):
    """Datasets of the same length side by side: item i is the tuple, or by keyword the dict, of their items i."""

    def __init__(self, *args: Any, **kwargs: Any):
        if bool(args) == bool(kwargs):
            raise ValueError("At least one dataset should be passed, by position or by keyword and not by both")
        self.datasets: Any = args or kwargs
        lengths = {len(dataset) for dataset in args or kwargs.values()}
        if len(lengths) > 1:
            raise ValueError("Size mismatch between datasets")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __len__(self) -> int:
        first = next(iter(self.datasets.values())) if isinstance(self.datasets, dict) else self.datasets[0]
        return len(first)


class Subset(Dataset[Item]):
    """The items of a dataset at the given indices."""

    def __init__(self, dataset: Dataset[Item], indices: Sequence[int]):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset[Item]):
    """Datasets one after the other."""

    def __init__(self, datasets: Iterable[Dataset[Item]]):
        self.datasets: list[Any] = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        self.cumulative_sizes = list(accumulate(len(dataset) for dataset in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        if not -len(self) <= index < len(self):
            raise ValueError(f"index must be within the {len(self)} items, but got {index}")
        index %= len(self)
        place = bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[place - 1] if place else 0
        return self.datasets[place][index - before]


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None) -> list[Subset]:
    """Shuffled parts of the given lengths, or of the given fractions that sum to 1."""
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        if any(not 0 <= part <= 1 for part in lengths):
            raise ValueError(f"fractions must be between 0 and 1, but got {list(lengths)}")
        counts = [math.floor(len(dataset) * part) for part in lengths]
        for extra in range(len(dataset) - sum(counts)):  # what rounding down left over, one each in turn
            counts[extra % len(counts)] += 1
        lengths = counts
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(len(dataset), generator=generator).tolist()
    ends = [int(end) for end in accumulate(lengths)]
    return [Subset(dataset, order[end - int(length) : end]) for end, length in zip(ends, lengths)]

"""DataLoader: batches of a dataset in one process; tensors in memory are gathered a whole batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from mytorch.tensor import Tensor

from .collate import default_collate, default_convert
from .dataset import IterableDataset, Subset, TensorDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler


class DataLoader:
    """torch's arguments; those about worker processes and pinned memory are accepted and change nothing."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ):
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.num_workers, self.pin_memory, self.generator = num_workers, pin_memory, generator
        self.timeout, self.worker_init_fn, self.persistent_workers = timeout, worker_init_fn, persistent_workers
        self.multiprocessing_context, self.in_order = multiprocessing_context, in_order
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self._streams = isinstance(dataset, IterableDataset)
        if self._streams and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("DataLoader with IterableDataset: expected unspecified shuffle and sampler options")
        if sampler is None and not self._streams:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_sampler is None and batch_size is not None and not self._streams:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.sampler, self.batch_sampler = sampler, batch_sampler
        batched = batch_sampler is not None or (self._streams and batch_size is not None)
        self.collate_fn = collate_fn or (default_collate if batched else default_convert)

    def __setattr__(self, name: str, value: Any) -> None:
        fixed = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
        if name in fixed and "collate_fn" in vars(self):  # the samplers are made from them
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def __len__(self) -> int:
        if self._streams:
            count = len(self.dataset)
            if self.batch_size is None:
                return count
            return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        return _Batches(self, self._batches())

    def _batches(self) -> Iterator[Any]:
        if self._streams:
            return self._stream()
        if self.batch_sampler is None:
            return (self.collate_fn(self.dataset[index]) for index in self.sampler)
        tensors, rows = _in_memory(self.dataset)
        if tensors is not None and self.collate_fn is default_collate:
            return self._gather(tensors, rows)
        return self._each()

    def _each(self) -> Iterator[Any]:
        many = getattr(self.dataset, "__getitems__", None)  # a dataset may offer a whole batch at once
        for batch in self.batch_sampler:
            samples = many(batch) if many is not None else [self.dataset[index] for index in batch]
            yield self.collate_fn(samples)

    def _gather(self, tensors: list[np.ndarray], rows: np.ndarray | None) -> Iterator[list[Tensor]]:
        sampler = self.batch_sampler
        known = isinstance(sampler, BatchSampler) and hasattr(sampler.sampler, "parts")
        for batch in sampler.arrays() if known else map(np.asarray, sampler):
            index = batch if rows is None else rows[batch]
            yield [Tensor(np.take(array, index, axis=0)) for array in tensors]

    def _stream(self) -> Iterator[Any]:
        source = iter(self.dataset)
        if self.batch_size is None:
            for sample in source:
                yield self.collate_fn(sample)
            return
        while batch := list(islice(source, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn(batch)


class _Batches(Iterator[Any]):
    """One pass over a loader; its length is the loader's, for progress bars."""

    def __init__(self, loader: DataLoader, source: Iterator[Any]):
        self.loader, self.source = loader, source

    def __next__(self) -> Any:
        return next(self.source)

    def __len__(self) -> int:
        return len(self.loader)


def _check_workers(num_workers: int, timeout: float, prefetch: int | None, persistent: bool, context: Any) -> None:
    """No worker is started, but what torch refuses is refused."""
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
            "multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch is not None and prefetch < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if context is not None and num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
            f"num_workers={num_workers}"
        )


def _in_memory(dataset: Any) -> tuple[list[np.ndarray] | None, np.ndarray | None]:
    """The arrays behind a TensorDataset or parts of one, and which of their rows it is (None: all)."""
    rows = None
    while type(dataset) is Subset:
        chosen = np.asarray(dataset.indices, np.int64)
        rows = chosen if rows is None else chosen[rows]
        dataset = dataset.dataset
    if type(dataset) is not TensorDataset or any(tensor.requires_grad for tensor in dataset.tensors):
        return None, None
    return [tensor._array for tensor in dataset.tensors], rows


def get_worker_info() -> None:
    """None: every batch is made in the main process."""

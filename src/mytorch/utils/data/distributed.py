"""DistributedSampler: each of several processes takes its share of a data set. It only computes indices."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from mytorch.random import Generator, randperm

from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Every num_replicas-th index from `rank` on, of an order that set_epoch() changes."""

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ):
        if num_replicas is None or rank is None:
            raise RuntimeError("Requires distributed package to be available: give num_replicas and rank")
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        count = len(dataset)
        exact = drop_last and count % num_replicas
        self.num_samples = math.ceil((count - num_replicas) / num_replicas if exact else count / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        order = list(range(len(self.dataset)))
        if self.shuffle:
            order = randperm(len(order), generator=Generator().manual_seed(self.seed + self.epoch)).tolist()
        order = (order * math.ceil(self.total_size / len(order)))[: self.total_size]
        return iter(order[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

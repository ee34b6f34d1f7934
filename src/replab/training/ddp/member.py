"""What one process of a shared training does: its share of each batch, and gradients that are those of all.

- Every process draws the same batches from the same seed and computes a share of each. A batch with fewer than two
  images per process is computed whole by all of them: BatchNorm cannot train on one image.
- A task's loss is computed inside the forward of the module that DistributedDataParallel wraps, one per part of the
  task: so the parts of a VAE or a GAN, which tasks call themselves, are synchronised like a classifier.
- BatchNorm normalises each share by its own statistics. Buffers that move, as its running statistics, are averaged
  over the processes after every step.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from itertools import islice
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from replab.backends.backend import Backend
from replab.data.batches import Batch, Batches
from replab.training.ddp.team import Team
from replab.training.evaluate import Evaluation, collect, evaluated


class Share(Batch):
    """Of a batch. `weight`: by which a mean over it counts, so that the mean over processes is that of the batch."""

    weight: float
    images: float  # of the batch that this process answers for: a batch that all compute is shared out
    least: int  # images of the smallest share


class Shared:
    """Batches of which this process computes a share."""

    def __init__(self, batches: Batches, rank: int, size: int):
        self.batches, self.rank, self.size = batches, rank, size

    def __len__(self) -> int:
        return len(self.batches)

    def epoch(self, number: int) -> Iterator[Share]:
        for batch in self.batches.epoch(number):
            whole = len(batch.index)
            own = slice(whole * self.rank // self.size, whole * (self.rank + 1) // self.size)
            if whole < 2 * self.size:
                own = slice(0, whole)
            share = Share(*(None if part is None else part[own] for part in batch))
            share.weight = 1.0 if own.stop - own.start == whole else (own.stop - own.start) * self.size / whole
            share.images = share.weight * whole / self.size
            share.least = whole if own.stop - own.start == whole else whole // self.size
            yield share


class Part(nn.Module):
    """The next loss of a task as a module. Its parameters are those of one part; the model itself is not registered."""

    def __init__(self, params: list[Any]):
        super().__init__()
        self.params = nn.ParameterList(params)
        self.unused = nn.Parameter(torch.zeros(1, device=params[0].device))  # torch warns where it finds none
        self.logs: dict[str, Any] = {}

    def forward(self, name: str, losses: Iterator[tuple[str, Any, dict[str, Any]]], weight: float) -> Any:
        part, loss, logs = next(losses)
        if part != name:
            raise ValueError(f"the task yields the loss of {part!r} where its parts() say {name!r}")
        self.logs = {key: value.detach() for key, value in logs.items()}
        return loss * weight


class Member(Team):
    def __init__(self, rank: int, size: int, device: str):
        self.rank, self.size, self.device = rank, size, device
        self._wrapped: dict[str, tuple[list[Any], DistributedDataParallel]] = {}

    def share(self, batches: Batches) -> Shared:
        return Shared(batches, self.rank, self.size)

    def losses(self, task: Any, model: Any, piece: Any, batch: Any) -> Iterator[tuple[str, Any, dict[str, Any]]]:
        parts = task.parts(model)  # wrapped before anything is computed: torch writes the first process's weights
        modules = {name: self._wrap(name, [p for p in params if p.requires_grad]) for name, params in parts.items()}
        running = task.losses(model, piece)
        for name, wrapped in modules.items():
            loss = wrapped(name, running, batch.weight)
            yield name, loss, wrapped.module.logs
        next(running, None)  # what the task does when its last part has stepped
        self.average_buffers(model)

    def _wrap(self, name: str, params: list[Any]) -> DistributedDataParallel:
        """Made again when other parameters are trained, as in gradual unfreezing."""
        known = self._wrapped.get(name)
        if known is not None and len(known[0]) == len(params) and all(a is b for a, b in zip(known[0], params)):
            return known[1]
        # parameters without a gradient are looked for at each step: then buckets are never rearranged, and sums in a
        # resumed training are in the order of one left alone
        made = DistributedDataParallel(Part(params), find_unused_parameters=True)
        self._wrapped[name] = (params, made)
        return made

    def average_buffers(self, model: Any) -> None:
        moving = [b for b in model.buffers() if b.is_floating_point()]
        if not moving:
            return
        flat = torch.cat([b.detach().reshape(-1) for b in moving])
        dist.all_reduce(flat)
        for buffer, mean in zip(moving, flat.div_(self.size).split([b.numel() for b in moving])):
            buffer.copy_(mean.view_as(buffer))

    def pieces(self, batch: Any) -> int:
        return int(batch.least)

    def images(self, batch: Any) -> float:
        return float(batch.images)

    def mean(self, row: dict[str, float], images: float) -> dict[str, float]:
        sums = torch.tensor([*(value * images for value in row.values()), images], dtype=torch.float64)
        sums = sums.to(self.device)
        dist.all_reduce(sums)
        return dict(zip(row, (sums[:-1] / sums[-1]).tolist()))

    def evaluate(self, model: Any, task: Any, batches: Batches, backend: Backend, device: str) -> Evaluation:
        """Whole batches by turns: the outputs of each are those of one process."""
        started = perf_counter()
        own = collect(model, task, islice(batches.epoch(0), self.rank, None, self.size), backend, device)
        everyone: list[Any] = [None] * self.size
        dist.all_gather_object(everyone, own)
        parts = [everyone[i % self.size][i // self.size] for i in range(len(batches))]
        return evaluated(task, parts, started)

    def rows(self, rows: Iterator[Any]) -> Iterator[Any]:
        """The first process says after each row whether there will be another."""
        wanted = True
        try:
            for row in rows:
                wanted = False
                yield row
                wanted = True
                if not self._go_on(True):
                    return
        finally:
            if not wanted and self.rank == 0:
                with contextlib.suppress(RuntimeError, ValueError):  # the others, or the group, are gone
                    self._go_on(False)

    def leave(self) -> None:
        """The group, in this order: torch may wait for ever when it ends a wrapper whose group has ended."""
        self._wrapped.clear()
        gc.collect()
        if dist.is_initialized():
            dist.destroy_process_group()

    def _go_on(self, wanted: bool) -> bool:
        said = torch.tensor([int(wanted)], device=self.device)
        dist.broadcast(said, 0)
        return bool(said.item())

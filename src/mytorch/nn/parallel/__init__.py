"""torch.nn.parallel on one device: DataParallel runs its module, as torch's does on a machine without GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mytorch import distributed
from mytorch.absent import names_in
from mytorch.dtypes import unsupported
from mytorch.nn.modules.module import Module


class DataParallel(Module):
    """Calls the module it holds; state dict names start with `module.`, as torch's."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0):
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []
        self.output_device, self.dim = output_device, dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict | None = None,
) -> Any:
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))


class DistributedDataParallel(DataParallel):
    """In a group of one process: the module itself."""

    def __init__(self, module: Module, *args: Any, **settings: Any):
        if not distributed.is_initialized():
            raise unsupported("torch.nn.parallel.DistributedDataParallel without a process group")
        super().__init__(module)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        yield


__getattr__ = names_in("torch.nn.parallel")

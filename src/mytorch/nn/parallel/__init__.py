"""torch.nn.parallel on one device: DataParallel runs its module, as torch's does on a machine without GPUs."""

from __future__ import annotations

from typing import Any

from mytorch.absent import names_in
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


__getattr__ = names_in("torch.nn.parallel")  # DistributedDataParallel can be imported, and is refused when built

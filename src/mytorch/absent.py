"""Parts of torch that scripts import and may never use: importing them works, and using one raises an error."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn

from .dtypes import unsupported

# Whole modules without a file of their own. What lies below them (torch.fx.passes) is absent with them.
MODULES = (
    "torch.__config__",
    "torch._inductor",
    "torch._utils",
    "torch.ao",
    "torch.autograd.forward_ad",
    "torch.autograd.graph",
    "torch.autograd.profiler",
    "torch.cpu",
    "torch.cuda.nccl",
    "torch.distributed.algorithms",
    "torch.distributed.checkpoint",
    "torch.distributed.elastic",
    "torch.distributed.fsdp",
    "torch.distributed.optim",
    "torch.distributed.rpc",
    "torch.distributed.tensor",
    "torch.export",
    "torch.futures",
    "torch.fx",
    "torch.jit.annotations",
    "torch.library",
    "torch.masked",
    "torch.monitor",
    "torch.nested",
    "torch.nn.common_types",
    "torch.nn.grad",
    "torch.nn.parallel.parallel_apply",
    "torch.nn.parallel.replicate",
    "torch.nn.parallel.scatter_gather",
    "torch.nn.quantized",
    "torch.nn.utils.fusion",
    "torch.onnx",
    "torch.overrides",
    "torch.package",
    "torch.quantization",
    "torch.return_types",
    "torch.testing._internal",
    "torch.utils.bottleneck",
    "torch.utils.collect_env",
    "torch.utils.cpp_extension",
    "torch.utils.flop_counter",
    "torch.utils.mobile_optimizer",
    "torch.utils.model_zoo",
    "torchvision.datasets.utils",
    "torchvision.io",
    "torchvision.models._utils",
    "torchvision.models.detection",
    "torchvision.models.feature_extraction",
    "torchvision.models.quantization",
    "torchvision.models.segmentation",
    "torchvision.models.video",
    "torchvision.ops",
    "torchvision.prototype",
    "torchvision.tv_tensors",
)


class Absent:
    """A name of torch that mytorch does not have: calling it, entering it or making an object of a subclass raises."""

    def __init__(self, name: str):
        self._name = name

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise unsupported(self._name)

    __call__ = __enter__ = __exit__ = __iter__ = __len__ = __getitem__ = _refuse

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self._name}.{name}")

    def __mro_entries__(self, bases: tuple) -> tuple:
        """As a base class: the subclass may be defined, as libraries do when they are imported."""
        return (type(self._name.rpartition(".")[2], (), {"__init__": lambda made, *_, **__: self._refuse()}),)

    def __subclasscheck__(self, kind: Any) -> bool:
        return False

    def __instancecheck__(self, value: Any) -> bool:
        return False  # nothing here is of a kind that does not exist

    def __repr__(self) -> str:
        return f"<{self._name}, which mytorch does not have>"


def is_absent(name: str) -> bool:
    return any(name == known or name.startswith(f"{known}.") for known in MODULES)


def module(name: str) -> ModuleType:
    """A stand-in for an absent module: importing it and taking names from it is allowed."""
    made = ModuleType(name, f"{name}: can be imported on mytorch, but not used")
    made.__path__ = []
    made.__getattr__ = names_in(name)  # type: ignore[method-assign]
    return made


def names_in(module_name: str) -> Any:
    """A module's __getattr__ that answers for every public name with an Absent."""

    def __getattr__(name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(f"module '{module_name}' has no attribute '{name}'")
        return Absent(f"{module_name}.{name}")

    return __getattr__

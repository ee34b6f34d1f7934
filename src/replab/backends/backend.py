"""A backend is a value: torch, or mytorch, which has torch's interface. What differs between the two is all here.

Model files are plain PyTorch. On mytorch the same file is loaded with its `import torch` answered by mytorch
(mytorch.compat), so a user's own file runs there too, as it is.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from replab.backends import torch_file
from replab.errors import RecipeError
from replab.registry import folder_of, module_file


@dataclass(frozen=True)
class Backend:
    name: str
    lib: Any  # torch or mytorch: nn, optim, no_grad, manual_seed, save, load have the same names and meaning
    tensor: Callable[[torch.Tensor], Any]  # a batch of the input pipeline as this backend's tensor
    load_module: Callable[[str], ModuleType]  # a module of replab.models, its torch being this backend
    load_file: Callable[[Path], ModuleType]  # a user's model file, likewise
    precision: str = "auto"  # of products and convolutions, where torch may choose

    def to_device(self, model: Any, device: str) -> Any:
        return model.to(device) if self.name == "torch" else model

    def load(self, path: Path) -> Any:
        """A file of save(), which may come from anywhere: it runs no code and takes no more time than its size says."""
        if self.name == "torch":
            torch_file.check(path)
        return self.lib.load(path, weights_only=True)

    def autocast(self, device: str) -> Any:
        """By `precision`; `auto` is bfloat16 on GPUs that compute in it, and elsewhere float32 as it is."""
        half = self.precision == "bfloat16" or (
            self.precision == "auto"
            and self.name == "torch"
            and device.startswith("cuda")
            and torch.cuda.is_bf16_supported(including_emulation=False)
        )
        if not half:
            return contextlib.nullcontext()
        # no cache: it would keep the weights of before a step for the losses of the task's next part
        return torch.autocast(device.partition(":")[0], dtype=torch.bfloat16, cache_enabled=False)


def array(tensor: Any) -> np.ndarray:
    """A tensor of either backend as a NumPy array in float32 or its integer type."""
    tensor = tensor.detach()
    if isinstance(tensor, torch.Tensor):
        tensor = tensor.cpu().float() if tensor.is_floating_point() and tensor.dtype != torch.float64 else tensor.cpu()
    return np.asarray(tensor.numpy())


@contextlib.contextmanager
def threads(backend: Backend, count: int) -> Iterator[None]:
    """Compute on so many threads, for a while; 0 leaves them as they are."""
    before = backend.lib.get_num_threads()
    backend.lib.set_num_threads(count or before)
    try:
        yield
    finally:
        backend.lib.set_num_threads(before)


def get(name: str, precision: str = "auto") -> Backend:
    if name == "torch":
        from replab.backends.allocator import keep_freed_memory
        from replab.backends.denormals import flush_denormals
        from replab.backends.products import products_by_onednn
        from replab.backends.user_file import import_file

        keep_freed_memory()
        flush_denormals()
        products_by_onednn()
        return Backend("torch", torch, lambda t: t, importlib.import_module, import_file, precision)
    import mytorch
    from mytorch.compat import import_as_torch

    def load_module(name: str) -> ModuleType:
        package, _, stem = name.rpartition(".")
        if not name.startswith("replab."):  # of a plugin
            return import_as_torch(module_file(name), package or None)
        return import_as_torch(folder_of(package) / f"{stem}.py", "replab.models")  # its parts are on mytorch too

    return Backend("mytorch", mytorch, lambda t: mytorch.from_numpy(t.numpy()), load_module, import_as_torch)


def pick_device(wanted: str, backend: str) -> str:
    """`auto` is the fastest device; one that is asked for and absent is an error, never silently the CPU."""
    if backend == "mytorch":
        if wanted not in ("auto", "cpu"):
            raise RecipeError(
                f"mytorch computes on the CPU, got --device {wanted}; leave --device out or use --backend torch"
            )
        return "cpu"
    has = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if wanted == "auto":
        return next(kind for kind in ("cuda", "mps", "cpu") if has[kind])
    kind = wanted.partition(":")[0]
    if kind not in has:
        raise RecipeError(f"device must be auto, cpu, cuda, cuda:N or mps, got {wanted!r}")
    if not has[kind]:
        raise RecipeError(
            f"--device {wanted} asks for {kind}, and this torch finds none; --device cpu, or auto, works here"
        )
    if kind == "cuda" and ":" in wanted and not wanted.partition(":")[2].isdigit():
        raise RecipeError(f"device must be auto, cpu, cuda, cuda:N or mps, got {wanted!r}")
    if kind == "cuda" and int(wanted.partition(":")[2] or 0) >= torch.cuda.device_count():
        raise RecipeError(
            f"--device {wanted} asks for a GPU that does not exist; this machine has {torch.cuda.device_count()}"
        )
    return wanted

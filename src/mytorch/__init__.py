"""mytorch: torch's interface on NumPy alone. Which parts of torch there are, and what differs: docs/mytorch.md."""

# ruff: noqa: E402, F401, I001  (this file gathers names, and the order of its imports matters)
from __future__ import annotations

import importlib
import warnings
from math import e, inf, nan, pi
from typing import Any

# Torch says nothing when a result is inf or nan; NumPy warns. Only warnings from inside mytorch are silenced.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"mytorch\.")

from . import memory  # first: it decides how all later arrays are allocated
from . import accelerator, autograd, backends, copying, creation, cuda, dtypes, linalg, ops, random
from .absent import is_absent, module as absent_module
from .autograd import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .dtypes import Size, device, dtype, finfo, get_default_dtype, iinfo, set_default_dtype, unsupported
from .printing import set_printoptions
from .random import Generator, default_generator
from .threads import get_num_threads, set_num_threads
from . import nn, sparse, storage, utils, version
from .legacy import (
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
    Tensor,
    set_default_tensor_type,
)
from . import more_names  # after everything it names

from .sparse import mm as spmm, smm, sparse_coo_tensor, sparse_csc_tensor, sparse_csr_tensor
from .storage import UntypedStorage
from .version import __version__

# torch.float32, torch.int64 and so on; torch.float, torch.int and torch.bool are dtypes too
globals().update({d.name: d for d in (*dtypes.ALL, dtypes.bfloat16)})
half, float, double = dtypes.float16, dtypes.float32, dtypes.float64
short, int, long = dtypes.int16, dtypes.int32, dtypes.int64
sparse_coo, sparse_csr, sparse_csc = "torch.sparse_coo", "torch.sparse_csr", "torch.sparse_csc"
strided, contiguous_format, channels_last, preserve_format = (
    "torch.strided",
    "contiguous",
    "channels_last",
    "preserve",
)

# every operation by its name, as a function of the package
globals().update(ops.FUNCTIONS)
for _module in (creation, random):
    _public = {n: f for n, f in vars(_module).items() if getattr(f, "__module__", "") == _module.__name__}
    globals().update({n: f for n, f in _public.items() if not n.startswith("_")})


# names that scripts use for the same things; nothing that is there already is replaced
for _name, _value in more_names.FUNCTIONS.items():
    globals().setdefault(_name, _value)
globals().update(more_names.REPLACED)  # the same functions, called in older ways too


def is_tensor(obj: Any) -> bool:  # type: ignore[valid-type]
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:  # type: ignore[valid-type]
    return input.is_floating_point()


def numel(input: Tensor) -> int:  # type: ignore[valid-type]
    return input.numel()


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:  # type: ignore[valid-type]
    """Nothing to change: every operation here gives the same result each time."""


def set_float32_matmul_precision(precision: str) -> None:
    """Nothing to change: float32 products are always float32."""


def set_default_device(where: Any) -> None:
    dtypes.require_cpu(where)


def compile(model: Any = None, **options: Any) -> Any:
    """The model itself: there is nothing to compile, and torch's compiled models give the same numbers too."""
    return model if model is not None else (lambda m: m)


_LATER = (
    *("_C", "amp", "compiler", "distributed", "distributions", "fft", "func", "hub", "jit", "multiprocessing"),
    *("optim", "profiler", "return_types", "serialization", "signal", "special", "testing"),
    *("compat", "datasets", "transforms", "vision"),  # not part of torch
)


def __getattr__(name: str) -> Any:
    """Modules that not every script needs are imported when they are asked for; absent ones say so when used."""
    if name in _LATER:
        return importlib.import_module(f"mytorch.{name}")
    if name in ("load", "save"):
        return getattr(importlib.import_module("mytorch.serialization"), name)
    if name in ("load_mnist", "read_images", "read_labels"):  # numpy-lab's, not torch's
        return getattr(importlib.import_module("mytorch.numpy_lab"), name)
    if name in ("autocast", "GradScaler"):
        return getattr(importlib.import_module("mytorch.amp"), name)
    if name in ("stft", "istft") or name.endswith("_window"):
        return getattr(importlib.import_module("mytorch.spectral"), name)
    if name == "_dynamo":
        return importlib.import_module("mytorch.compiler")
    if name in ("mps", "xpu"):
        return accelerator
    if name == "lu_unpack":
        return importlib.import_module("mytorch.lu").lu_unpack
    if name == "vmap":
        return importlib.import_module("mytorch.func").vmap
    if name in ("from_dlpack", "to_dlpack"):
        return getattr(importlib.import_module("mytorch.utils.dlpack"), name)
    if is_absent(f"torch.{name}"):
        return absent_module(f"torch.{name}")
    raise unsupported(f"torch.{name}")

"""torch.cuda for a machine without a GPU: is_available() is False."""

from __future__ import annotations

from typing import Any

from mytorch.dtypes import unsupported

from . import amp

__all__ = ["amp", "device_count", "is_available"]


def is_available() -> bool:
    return False


def device_count() -> int:
    return 0


def is_initialized() -> bool:
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return False


def manual_seed(seed: int) -> None:
    """Nothing to seed; scripts call it without asking."""


def manual_seed_all(seed: int) -> None:
    """Nothing to seed; scripts call it without asking."""


def empty_cache() -> None:
    """Nothing to empty."""


def memory_allocated(device: Any = None) -> int:
    return 0


def max_memory_allocated(device: Any = None) -> int:
    return 0


def memory_reserved(device: Any = None) -> int:
    return 0


def max_memory_reserved(device: Any = None) -> int:
    return 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Does nothing: usage is not counted."""


reset_max_memory_allocated = reset_peak_memory_stats


def memory_stats(device: Any = None) -> dict[str, Any]:
    return {}


def get_rng_state_all() -> list:
    """The states of no devices."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """As many states as there are devices: none."""


def get_arch_list() -> list[str]:
    return []


def ipc_collect() -> None:
    """Nothing to collect."""


class OutOfMemoryError(RuntimeError):
    """An error of a GPU; scripts name it in an except clause."""


class _NoCuda:
    """A class that scripts name in annotations or behind is_available(); making one raises, as in a CPU-only torch."""

    def __init__(self, *args: Any, **kwargs: Any):
        _no_cuda()


class Stream(_NoCuda):
    pass


class Event(_NoCuda):
    pass


class CUDAGraph(_NoCuda):
    pass


def _no_cuda(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("Torch not compiled with CUDA enabled: mytorch runs on the CPU")


synchronize = set_device = current_device = get_device_name = get_device_properties = get_device_capability = _no_cuda
get_rng_state = set_rng_state = mem_get_info = default_stream = current_stream = init = utilization = _no_cuda


class device:
    """`with torch.cuda.device(n):`; on a machine without CUDA torch ignores it as well."""

    def __init__(self, device: Any):
        self.idx = device

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: Any) -> None:
        return None


def stream(stream: Any) -> device:
    """`with torch.cuda.stream(s):`; a stream of None is no stream."""
    return device(None)


def __getattr__(name: str) -> Any:
    if name.endswith("Tensor") and name[0].isupper():  # `torch.cuda.FloatTensor if use_cuda else torch.FloatTensor`
        from mytorch.legacy import cuda_type

        return cuda_type(name)
    raise unsupported(f"torch.cuda.{name}")

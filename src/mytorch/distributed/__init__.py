"""torch.distributed for one process: a group of one may be made, and talks to itself. Several processes are refused."""

from __future__ import annotations

import os
from typing import Any

from mytorch.absent import names_in
from mytorch.dtypes import unsupported
from mytorch.tensor import Tensor

_group: list[str] = []  # the backend's name, once there is a group


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    return bool(_group)


def is_torchelastic_launched() -> bool:
    return False


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    **settings: Any,
) -> None:
    size = world_size if world_size > 0 else int(os.environ.get("WORLD_SIZE", -1))
    if size != 1:
        raise unsupported("torch.distributed.init_process_group for more than one process (world_size=1)")
    if _group:
        raise ValueError("trying to initialize the default process group twice!")
    _group.append(backend or "gloo")


def destroy_process_group(group: Any = None) -> None:
    _need_group()
    _group.clear()


def _need_group() -> None:
    if not _group:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")


def get_backend(group: Any = None) -> str:
    _need_group()
    return _group[0]


def get_rank(group: Any = None) -> int:
    _need_group()
    return 0


def get_world_size(group: Any = None) -> int:
    _need_group()
    return 1


def barrier(*args: Any, **kwargs: Any) -> None:
    _need_group()


def all_reduce(tensor: Tensor, op: Any = None, group: Any = None, async_op: bool = False) -> None:
    """The sum, mean, largest and so on over one process is the tensor itself."""
    _need_group()


def reduce(tensor: Tensor, dst: Any = None, op: Any = None, group: Any = None, async_op: bool = False) -> None:
    _need_group()


def broadcast(tensor: Tensor, src: Any = None, group: Any = None, async_op: bool = False) -> None:
    _need_group()


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> None:
    _need_group()
    tensor_list[0].copy_(tensor)  # type: ignore[attr-defined]


class ReduceOp:
    SUM, AVG, PRODUCT, MIN, MAX = "sum", "avg", "product", "min", "max"


__getattr__ = names_in("torch.distributed")

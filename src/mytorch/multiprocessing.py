"""torch.multiprocessing: Python's own, without tensors shared between processes.

Names and settings are the standard library's. A process is refused when it is made: it would train a copy of the
model, and the script would go on with the untouched one.
"""

from __future__ import annotations

import multiprocessing as _standard
from typing import Any, NoReturn

from mytorch.dtypes import Unsupported


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise Unsupported(
        "mytorch shares no tensors between processes (torch.multiprocessing): call the function directly, "
        "or use threads"
    )


Process = Pool = spawn = start_processes = _refuse


def set_sharing_strategy(new_strategy: str) -> None:
    """Nothing to choose: nothing is shared."""


def get_sharing_strategy() -> str:
    return "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    return {"file_descriptor", "file_system"}


def set_start_method(method: str | None, force: bool = False) -> None:
    """Accepted: no process is started."""


def __getattr__(name: str) -> Any:
    return getattr(_standard, name)

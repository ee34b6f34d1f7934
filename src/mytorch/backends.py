"""torch.backends: neither cuDNN nor MPS is available. Scripts may change the settings; they have no effect."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any


def _no() -> bool:
    return False


cudnn = SimpleNamespace(
    is_available=_no,
    version=lambda: None,
    enabled=False,
    benchmark=False,
    deterministic=False,
    allow_tf32=False,
)
mps = SimpleNamespace(is_available=_no, is_built=_no)


@contextlib.contextmanager
def _kernels(*choice: Any, **choices: Any) -> Iterator[None]:
    """`with torch.backends.cuda.sdp_kernel(...)`: no effect, because there is only one kernel for attention."""
    yield


cuda = SimpleNamespace(
    is_built=_no,
    matmul=SimpleNamespace(allow_tf32=False),
    sdp_kernel=_kernels,
    flash_sdp_enabled=_no,
    mem_efficient_sdp_enabled=_no,
    math_sdp_enabled=lambda: True,
    **{f"enable_{name}_sdp": lambda enabled: None for name in ("flash", "mem_efficient", "math", "cudnn")},
)
opt_einsum = SimpleNamespace(is_available=_no, enabled=False, strategy=None)
mkl = SimpleNamespace(is_available=_no)
mkldnn = SimpleNamespace(is_available=_no)
openmp = SimpleNamespace(is_available=_no)

"""torch.backends, answered truthfully: no cuDNN, no MPS. Scripts may change its settings; they have no effect."""

from __future__ import annotations

from types import SimpleNamespace


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
cuda = SimpleNamespace(is_built=_no, matmul=SimpleNamespace(allow_tf32=False))
mkl = SimpleNamespace(is_available=_no)
mkldnn = SimpleNamespace(is_available=_no)
openmp = SimpleNamespace(is_available=_no)

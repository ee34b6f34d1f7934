"""Products of float32 matrices by oneDNN instead of MKL on AMD processors with AVX-512, for the whole process.

On x86 torch multiplies matrices by MKL, which uses AVX-512 on Intel's processors only, and convolves by oneDNN, which
uses what there is: its products take less than half of the time there. Here it is made the kernel of `mm` and `addmm`,
which linear layers and their gradients end in; small products and other types stay with torch's own. Sums are
taken in another order, so results differ by rounding, as between any two processors. REPLAB_ONEDNN_PRODUCTS=0 leaves
MKL, and 1 replaces it on any processor.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

CPUINFO = Path("/proc/cpuinfo")
LEAST = 1 << 20  # multiplications: a smaller product is over before Python has passed it on
# (x, w, bias) → x @ w.T + bias, as torch's compiler calls it; not every torch has it
product: Any = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
unseen = torch._C.DisableTorchFunction  # whoever watches torch's functions is told of `mm`, not of what is inside

_kernels: list[torch.library.Library] = []  # they last as long as their library does


def products_by_onednn() -> bool:
    """Whether they are from now on; False where MKL does as well, or where the user declined."""
    wanted = os.environ.get("REPLAB_ONEDNN_PRODUCTS") or str(int(mkl_is_slow()))
    if wanted == "0" or product is None or not torch.backends.mkldnn.is_available():
        return False
    if not _kernels:
        library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Warning only once for all operators")  # that a kernel is replaced
            library.impl("mm", mm, "CPU")
            library.impl("addmm", addmm, "CPU")
        _kernels.append(library)
    return True


def mkl_is_slow() -> bool:
    capable = torch.backends.mkl.is_available() and torch.backends.cpu.get_cpu_capability() == "AVX512"
    return capable and CPUINFO.is_file() and "AuthenticAMD" in CPUINFO.read_text()


def mm(a: Tensor, b: Tensor) -> Tensor:
    with unseen():
        if suits(a, b):
            return product(a, b.t(), None, "none", [], "")
        return torch.ops.aten.mm.out(a, b, out=a.new_empty(0))


def addmm(bias: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    with unseen():
        if beta == alpha == 1 and suits(a, b) and bias.shape == b.shape[1:] and bias.dtype == torch.float32:
            return product(a, b.t(), bias, "none", [], "")
        return torch.ops.aten.addmm.out(bias, a, b, beta=beta, alpha=alpha, out=a.new_empty(0))


def suits(a: Tensor, b: Tensor) -> bool:
    """Whether oneDNN is to multiply them; what cannot be multiplied is left to torch, which says so."""
    fits = a.dtype == b.dtype == torch.float32 and a.dim() == b.dim() == 2 and a.shape[1] == b.shape[0]
    return fits and a.shape[0] * b.numel() >= LEAST

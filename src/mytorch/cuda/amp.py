"""torch.cuda.amp: the older names of torch.amp, without the device as their first argument."""

from __future__ import annotations

from typing import Any

from mytorch import amp
from mytorch.amp import custom_bwd, custom_fwd

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(amp.autocast):
    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True):
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    def __init__(self, init_scale: float = 2.0**16, *settings: Any, **more: Any):
        super().__init__("cuda", init_scale)

"""Round numbers below 1.2e-38 to zero: some processors are many times slower with them.

They come from products of many small factors, as in gradients through the 256 steps of an LSTM. The setting is the
processor's own, one per thread. Threads inherit it from the thread that starts them, so it must be made before torch
first computes on several: where a notebook already has, its other threads stay as they are.
REPLAB_KEEP_DENORMALS=1 leaves it as it is.
"""

from __future__ import annotations

import os

import torch


def flush_denormals() -> bool:
    """Whether this thread now does so; False where the user declined or the processor cannot."""
    return os.environ.get("REPLAB_KEEP_DENORMALS") != "1" and torch.set_flush_denormal(True)

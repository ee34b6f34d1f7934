"""`from replab.backends.torchvision_cpu import torchvision`: torchvision, also on a CPU-only torch.

The wheel on PyPI is a CUDA build. On a CPU-only torch its C++ library does not load, and the import stops at
`operator torchvision::nms does not exist`. We use none of its operators: declaring two is enough.
"""

from __future__ import annotations

import importlib
import sys

import torch

_signature = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


def import_torchvision():
    """The package, imported once, its missing operators declared where they are."""
    try:
        return importlib.import_module("torchvision")
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
    for name in [n for n in sys.modules if n.split(".")[0] == "torchvision"]:
        del sys.modules[name]  # the half-imported package
    for operator in ("nms", "qnms"):
        torch.library.define(f"torchvision::{operator}", _signature)
    return importlib.import_module("torchvision")


torchvision = import_torchvision()

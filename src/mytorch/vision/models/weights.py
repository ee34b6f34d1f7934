"""Pretrained weights are not downloaded: asking for them says how to load them from a file."""

from __future__ import annotations

from typing import Any

from mytorch.dtypes import Unsupported


def refuse_weights(weights: Any = None, pretrained: Any = False, progress: Any = True, **older: Any) -> None:
    """Every builder's `weights` and the older `pretrained`: None and False are the only values that work here."""
    if (weights is not None and weights is not False) or pretrained:
        raise Unsupported(
            "mytorch downloads no pretrained weights: build the model without weights= (or pretrained=) and "
            "load a state dict from a file"
        )

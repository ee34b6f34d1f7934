"""torch.utils: only the data part."""

from . import data

__all__ = ["data"]

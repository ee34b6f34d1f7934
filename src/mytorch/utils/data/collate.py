"""default_collate: a list of samples becomes one batch, part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mytorch.creation import from_numpy, tensor
from mytorch.dtypes import float64
from mytorch.ops.shape import stack
from mytorch.tensor import Tensor


def default_collate(batch: Sequence[Any]) -> Any:
    """Tensors, arrays and numbers are stacked; tuples, lists and dicts of them are collated inside."""
    first = batch[0]
    if isinstance(first, Tensor):
        if any(sample.requires_grad for sample in batch):
            return stack(list(batch))
        return from_numpy(np.stack([sample._array for sample in batch]))
    if isinstance(first, np.ndarray | np.generic):
        return from_numpy(np.stack([np.asarray(sample) for sample in batch]))
    if isinstance(first, float):
        return tensor(list(batch), dtype=float64)
    if isinstance(first, int):
        return tensor(list(batch))
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, Mapping):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):  # a namedtuple
        return type(first)(*(default_collate(parts) for parts in zip(*batch)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return [default_collate(parts) for parts in zip(*batch)]
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
        f"found {type(first)}: give a collate_fn"
    )


def default_convert(sample: Any) -> Any:
    """Returns one sample unchanged, except that arrays become tensors."""
    if isinstance(sample, np.ndarray):
        return Tensor(sample)
    if isinstance(sample, tuple | list):
        return type(sample)(default_convert(part) for part in sample)
    if isinstance(sample, dict):
        return {key: default_convert(part) for key, part in sample.items()}
    return sample

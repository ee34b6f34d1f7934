"""What the parts of torch_coverage share: samples taken from torch to mytorch, compared, within a time limit."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import mytorch

TOLERANCE = {torch.float32: (2e-4, 2e-5), torch.complex64: (2e-4, 2e-5)}


class Slow(BaseException):
    """A sample took too long. Not an Exception, so that nothing under test swallows it."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise Slow

    old = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def ours(value: Any, leaves: list | None = None) -> Any:
    """A sample's value for mytorch. Tensors that require grad become leaves, listed in the order met."""
    if isinstance(value, torch.Tensor):
        array = value.detach().resolve_conj().resolve_neg().numpy()
        made = mytorch.from_numpy(array.copy(order="K") if array.flags.owndata or array.size else array.copy())
        if isinstance(value, torch.nn.Parameter):
            made = mytorch.nn.Parameter(made, value.requires_grad)
        if value.requires_grad and leaves is not None:
            made.requires_grad_()
            leaves.append(made)
        return made
    if isinstance(value, torch.Size):
        return mytorch.Size(value)
    if isinstance(value, torch.dtype):
        return getattr(mytorch, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, torch.layout):
        return str(value)
    if isinstance(value, torch.memory_format):
        return getattr(mytorch, str(value).removeprefix("torch."))
    if isinstance(value, torch.Generator):
        return mytorch.Generator()
    if isinstance(value, torch.nn.TransformerEncoderLayer):
        heads, width = value.self_attn.num_heads, value.linear1.in_features
        return mytorch.nn.TransformerEncoderLayer(
            width,
            heads,
            value.linear1.out_features,
            value.dropout.p,
            ours(value.activation),
            value.norm1.eps,
            value.self_attn.batch_first,
            value.norm_first,
            value.linear1.bias is not None,
        )
    if isinstance(value, torch.nn.Module) and not list(value.parameters()):
        return getattr(mytorch.nn, type(value).__name__)()
    name = getattr(value, "__name__", " ")
    if callable(value) and getattr(torch.nn.functional, name, None) is value:
        return getattr(mytorch.nn.functional, name)
    return _inside(value, lambda v: ours(v, leaves))


def theirs(value: Any, leaves: list) -> Any:
    """A copy of a sample's value for torch, so that one run cannot disturb another."""
    if isinstance(value, torch.Tensor):
        made = value.detach().clone(memory_format=torch.preserve_format)
        if value.requires_grad:
            made.requires_grad_()
            leaves.append(made)
        return made
    return _inside(value, lambda v: theirs(v, leaves))


def _inside(value: Any, change: Callable) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[change(v) for v in value])
    if isinstance(value, (tuple, list)):
        return type(value)([change(v) for v in value])
    if isinstance(value, dict):
        return {k: change(v) for k, v in value.items()}
    if isinstance(value, slice):
        return slice(change(value.start), change(value.stop), change(value.step))
    return value


def flat(value: Any) -> list:
    if isinstance(value, (tuple, list)) and type(value).__name__ != "Size":
        return [v for part in value for v in flat(part)]
    if isinstance(value, dict):
        return flat(list(value.values()))
    return [value]


def weights(shape: tuple, dtype: torch.dtype, number: int) -> np.ndarray:
    rng = np.random.default_rng(number)
    w = rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape)
    if dtype.is_complex:
        w = w + 1j * rng.uniform(-1, 1, shape)
    return np.asarray(w, str(dtype).removeprefix("torch."))


class Difference(Exception):
    pass


class NotInTorch(Exception):
    """Torch itself cannot do this sample (a second derivative it does not have): nothing to compare."""


def same(mine: Any, reference: Any, random: bool = False, absolute: bool = False) -> None:
    a, b = flat(mine), flat(reference)
    if len(a) != len(b):
        raise Difference(f"{len(a)} results against torch's {len(b)}")
    for x, y in zip(a, b):
        if not isinstance(y, torch.Tensor):
            if isinstance(y, (float, complex)) and np.allclose(x, y, 2e-4, 2e-5, equal_nan=True):
                continue
            if str(x) != str(y):
                raise Difference(f"{x!r} against torch's {y!r}")
            continue
        if not isinstance(x, mytorch.Tensor):
            raise Difference(f"{type(x).__name__} against torch's tensor")
        if tuple(x.shape) != tuple(y.shape):
            raise Difference(f"shape {tuple(x.shape)} against torch's {tuple(y.shape)}")
        if str(x.dtype) != str(y.dtype):
            raise Difference(f"dtype {x.dtype} against torch's {y.dtype}")
        if random:
            continue
        rtol, atol = TOLERANCE.get(y.dtype, (1e-6, 1e-7))
        p, q = x.detach().numpy(), y.detach().resolve_conj().resolve_neg().numpy(force=True)
        if absolute:
            p, q = np.abs(p), np.abs(q)
        if not np.allclose(p, q, rtol, atol, equal_nan=True):
            where = ~np.isclose(p, q, rtol, atol, equal_nan=True)
            raise Difference(f"values: {np.asarray(p)[where][:3]} against torch's {np.asarray(q)[where][:3]}")


def weighted_sum(parts: list, lib: Any, number: int) -> Any:
    total = None
    for i, part in enumerate(parts):
        if not isinstance(part, lib.Tensor) or not part.requires_grad:
            continue
        dtype = getattr(torch, str(part.dtype).removeprefix("torch."))
        weight = lib.from_numpy(weights(tuple(part.shape), dtype, 100 * number + i))
        term = (part * weight).sum()
        if dtype.is_complex:
            term = lib.view_as_real(term)[0]
        total = term if total is None else total + term
    return total

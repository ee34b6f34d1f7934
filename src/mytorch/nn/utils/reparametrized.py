"""Weights computed from others before every call: weight_norm (a length and a direction) and spectral_norm.

A pre-hook computes the weight as an ordinary tensor from the parameters `weight_g`, `weight_v` or `weight_orig`, so
gradients flow to them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mytorch.autograd import no_grad
from mytorch.nn import functional as F
from mytorch.nn.modules.module import Module
from mytorch.nn.parameter import Parameter
from mytorch.random import randn
from mytorch.tensor import Tensor


def _replace(module: Module, name: str, value: Tensor) -> None:
    """The weight as a plain attribute: it is computed, so neither a parameter nor in the state dict."""
    module._parameters.pop(name, None)
    object.__setattr__(module, name, value)


def norm_except(v: Tensor, dim: int | None) -> Tensor:
    """The norm of every slice along dim, with v's number of dimensions; the norm of all of v if dim is None."""
    if dim is None:
        return v.pow(2).sum().sqrt()
    others = tuple(axis for axis in range(v._array.ndim) if axis != dim % v._array.ndim)
    return v.pow(2).sum(others, keepdim=True).sqrt()


class _WeightNorm:
    """weight = g · v / |v|"""

    def __init__(self, name: str, dim: int | None):
        self.name, self.dim = name, dim

    def __call__(self, module: Module, args: Any) -> None:
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        _replace(module, self.name, v * (g / norm_except(v, self.dim)))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    weight = getattr(module, name)
    hook = _WeightNorm(name, None if dim == -1 else dim)
    del module._parameters[name]
    module.register_parameter(f"{name}_g", Parameter(norm_except(weight.detach(), hook.dim).clone()))
    module.register_parameter(f"{name}_v", Parameter(weight.detach().clone()))
    hook(module, None)
    module.register_forward_pre_hook(hook)
    return module


class _SpectralNorm:
    """weight / σ, σ its largest singular value, followed by one power iteration per call in training."""

    def __init__(self, name: str, steps: int, dim: int, eps: float):
        self.name, self.steps, self.dim, self.eps = name, steps, dim, eps

    def matrix(self, weight: Tensor) -> Tensor:
        if self.dim:
            weight = weight.transpose(0, self.dim)
        return weight.reshape(weight.shape[0], -1)

    def __call__(self, module: Module, args: Any) -> None:
        matrix = self.matrix(getattr(module, f"{self.name}_orig"))
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        if module.training:
            with no_grad():
                for _ in range(self.steps):
                    v.copy_(F.normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix.mv(v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()  # the buffers change at the next call, which backward must not see
        sigma = u.dot(matrix.mv(v))
        _replace(module, self.name, getattr(module, f"{self.name}_orig") / sigma)


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    weight = getattr(module, name)
    hook = _SpectralNorm(name, n_power_iterations, dim, eps)
    del module._parameters[name]
    module.register_parameter(f"{name}_orig", Parameter(weight.detach()))
    matrix = hook.matrix(weight.detach())
    for part, length in (("u", matrix.shape[0]), ("v", matrix.shape[1])):
        start = F.normalize(randn(length, dtype=weight.dtype), dim=0, eps=eps)
        module.register_buffer(f"{name}_{part}", Tensor(np.array(start._array)))
    _replace(module, name, weight.detach())
    module.register_forward_pre_hook(hook)
    return module


def _remove(module: Module, name: str, kind: type) -> Module:
    for key, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, kind) and hook.name == name:  # type: ignore[attr-defined]
            with no_grad():
                hook(module, None)  # type: ignore[operator]
            weight = module.__dict__.pop(name)
            for part in ("g", "v", "orig"):
                module._parameters.pop(f"{name}_{part}", None)
            for part in ("u", "v"):
                module._buffers.pop(f"{name}_{part}", None)
            module.register_parameter(name, Parameter(weight.detach()))
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"{kind.__name__} of '{name}' not found in {module}")


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    return _remove(module, name, _WeightNorm)


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    return _remove(module, name, _SpectralNorm)

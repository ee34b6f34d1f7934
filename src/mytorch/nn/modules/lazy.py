"""Layers that take their input size from their first input, and become the ordinary layer then."""

from __future__ import annotations

from typing import Any

from mytorch.nn.parameter import Uninitialized, UninitializedBuffer, UninitializedParameter
from mytorch.tensor import Tensor

from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .linear import Linear
from .module import Module
from .normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)

_CONVS = (Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)
_NORMS = (BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d)


class _Lazy(Module):
    """Mixed into a layer: the first call sets the sizes, creates the parameters and makes the object that layer."""

    cls_to_become: type

    def _sizes(self, input: Tensor) -> None:
        """Sets the layer's sizes from an input."""
        raise NotImplementedError

    def _shapes(self) -> dict[str, tuple]:
        raise NotImplementedError

    def has_uninitialized_params(self) -> bool:
        return any(isinstance(t, Uninitialized) for t in (*self._parameters.values(), *self._buffers.values()))

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        self._sizes(input)
        if not self.has_uninitialized_params():  # load_state_dict has given the values
            return
        for name, shape in self._shapes().items():
            value = getattr(self, name)
            if isinstance(value, Uninitialized):
                value.materialize(shape)
        self.reset_parameters()  # type: ignore[operator]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.initialize_parameters(*args, **kwargs)
        self.__class__ = self.cls_to_become  # type: ignore[assignment]
        return self(*args, **kwargs)


class LazyLinear(_Lazy, Linear):
    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None):
        Module.__init__(self)
        self.in_features, self.out_features = 0, out_features
        self.weight = UninitializedParameter(dtype=dtype)
        self.register_parameter("bias", UninitializedParameter(dtype=dtype) if bias else None)

    def _sizes(self, input: Tensor) -> None:
        self.in_features = input.shape[-1]

    def _shapes(self) -> dict[str, tuple]:
        return {"weight": (self.out_features, self.in_features), "bias": (self.out_features,)}


class _LazyConv(_Lazy):
    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any):
        super().__init__(0, out_channels, kernel_size, *args, **kwargs)  # type: ignore[call-arg]

    def _make_parameters(self, bias: bool, dtype: Any) -> None:
        self.weight = UninitializedParameter(dtype=dtype)
        self.register_parameter("bias", UninitializedParameter(dtype=dtype) if bias else None)

    def _sizes(self, input: Tensor) -> None:
        layer: Any = self
        if input._array.ndim not in (layer.rank + 1, layer.rank + 2):
            raise RuntimeError(f"Expected {layer.rank + 1}D or {layer.rank + 2}D input, but got {input._array.ndim}D")
        layer.in_channels = input.shape[-layer.rank - 1]
        if layer.in_channels % layer.groups:
            raise ValueError("in_channels must be divisible by groups")

    def _shapes(self) -> dict[str, tuple]:
        layer: Any = self
        channels = (layer.out_channels, layer.in_channels)
        first, second = channels[::-1] if layer.transposed else channels
        return {"weight": (first, second // layer.groups, *layer.kernel_size), "bias": (layer.out_channels,)}


class _LazyNorm(_Lazy):
    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,  # as torch's, of instance norms too
        track_running_stats: bool = True,
        **more: Any,
    ):
        super().__init__(0, eps, momentum, affine, track_running_stats, **more)  # type: ignore[call-arg]

    def _make_state(self, weight: bool, bias: bool, dtype: Any) -> None:
        super()._make_state(False, False, dtype)  # type: ignore[misc]
        del self._parameters["weight"], self._parameters["bias"]
        self.register_parameter("weight", UninitializedParameter(dtype=dtype) if weight else None)
        self.register_parameter("bias", UninitializedParameter(dtype=dtype) if bias else None)
        for name in ("running_mean", "running_var"):
            if self._buffers.get(name) is not None:
                self._buffers[name] = UninitializedBuffer(dtype=dtype)

    def _sizes(self, input: Tensor) -> None:
        layer: Any = self
        alone = issubclass(self.cls_to_become, (InstanceNorm1d, InstanceNorm2d, InstanceNorm3d))
        layer.num_features = input.shape[0 if alone and input._array.ndim == layer.ranks[0] else 1]

    def _shapes(self) -> dict[str, tuple]:
        layer: Any = self
        return dict.fromkeys(("weight", "bias", "running_mean", "running_var"), (layer.num_features,))


def _lazy(mixin: type, layer: type) -> Any:
    return type(f"Lazy{layer.__name__}", (mixin, layer), {"cls_to_become": layer, "__module__": __name__})


LazyConv1d, LazyConv2d, LazyConv3d, LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = (
    _lazy(_LazyConv, layer) for layer in _CONVS
)
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d, LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = (
    _lazy(_LazyNorm, layer) for layer in _NORMS
)
__all__ = [
    "LazyLinear",
    "UninitializedBuffer",
    "UninitializedParameter",
    *(f"Lazy{layer.__name__}" for layer in (*_CONVS, *_NORMS)),
]

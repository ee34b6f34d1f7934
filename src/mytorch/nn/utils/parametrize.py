"""Parameters that are computed: register_parametrization(layer, "weight", module) makes layer.weight module(original).

The parameter itself moves to layer.parametrizations.weight.original, and `weight` becomes a property of the layer's
class, which is a class of its own from then on. Several modules on one parameter are applied one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mytorch.autograd import no_grad
from mytorch.nn.modules.container import ModuleDict, ModuleList
from mytorch.nn.modules.module import Module
from mytorch.nn.parameter import Parameter
from mytorch.tensor import Tensor

_cache: dict[tuple[int, str], Tensor] | None = None  # inside cached(): what was computed already


class ParametrizationList(ModuleList):
    """The modules of one parameter, and `original`, which they are applied to."""

    def __init__(self, modules: Any, original: Tensor):
        super().__init__(modules)
        value = original.detach().clone()
        if isinstance(original, Parameter):
            self.original = Parameter(value, original.requires_grad)
        else:
            self.register_buffer("original", value)

    def forward(self) -> Tensor:
        value = self.original
        for module in self:
            value = module(value)
        return value

    def right_inverse(self, value: Tensor) -> None:
        """Set `original` so that forward() gives `value`."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse: assigning needs it"
                    )
                value = module.right_inverse(value)
            self.original.copy_(value)


@contextmanager
def cached() -> Iterator[None]:
    """Compute every parametrized tensor once in this block."""
    global _cache
    before, _cache = _cache, {} if _cache is None else _cache
    try:
        yield
    finally:
        _cache = before


def _value(module: Module, name: str) -> Tensor:
    if _cache is None:
        return module.parametrizations[name]()
    key = (id(module), name)
    if key not in _cache:
        _cache[key] = module.parametrizations[name]()
    return _cache[key]


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe and hasattr(parametrization, "right_inverse"):
            with no_grad():
                value = parametrization.right_inverse(getattr(module, tensor_name))
            module.parametrizations[tensor_name].right_inverse(value)
        module.parametrizations[tensor_name].append(parametrization)
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    if hasattr(parametrization, "right_inverse"):
        with no_grad():
            inverse = parametrization.right_inverse(original)
        original = Parameter(inverse, original.requires_grad) if isinstance(original, Parameter) else inverse
    made = ParametrizationList([parametrization], original)
    with no_grad():
        if not unsafe and made().shape != getattr(module, tensor_name).shape:
            raise ValueError(
                "Registering a parametrization may not change the shape of the tensor, unless the `unsafe` flag is "
                f"enabled. Expected {list(getattr(module, tensor_name).shape)}, but got {list(made().shape)}."
            )
    delattr(module, tensor_name)
    if not is_parametrized(module):
        kind = type(module)
        module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), {"__module__": kind.__module__})
        module.parametrizations = ModuleDict()
    module.parametrizations[tensor_name] = made

    def get(self: Module) -> Tensor:
        return _value(self, tensor_name)

    def put(self: Module, value: Tensor) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(type(module), tensor_name, property(get, put))
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    made = module._modules.get("parametrizations")
    if not isinstance(made, ModuleDict):
        return False
    return len(made) > 0 if tensor_name is None else tensor_name in made


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make the computed value (or, if not leave_parametrized, the original) an ordinary parameter again."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    made = module.parametrizations[tensor_name]
    original = made.original
    if leave_parametrized:
        with no_grad():
            value = made().clone()
        original = Parameter(value, original.requires_grad) if isinstance(original, Parameter) else value
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if not len(module.parametrizations):
        del module._modules["parametrizations"]
        module.__class__ = type(module).__bases__[0]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    return module

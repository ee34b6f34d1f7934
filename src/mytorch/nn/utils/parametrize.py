"""Parameters that are computed: register_parametrization(layer, "weight", module) makes layer.weight module(original).

The parameter itself moves to layer.parametrizations.weight.original, and `weight` becomes a property of the layer's
class, which is a class of its own from then on. Several modules on one parameter are applied one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from mytorch.autograd import no_grad
from mytorch.nn.modules.container import ModuleDict, ModuleList
from mytorch.nn.modules.module import Module
from mytorch.nn.parameter import Parameter
from mytorch.tensor import Tensor

_cache: dict[tuple[int, str], Tensor] | None = None  # inside cached(): what was computed already


class ParametrizationList(ModuleList):
    """The modules of one parameter, and `original`, which they are applied to.

    Where the first module's right_inverse gives several tensors they are original0, original1 and so on, and its
    forward takes them all.
    """

    def __init__(self, modules: Any, original: Tensor | Sequence[Tensor], trained: bool, parameter: bool):
        super().__init__(modules)
        self.is_tensor = isinstance(original, Tensor)
        parts = [original] if isinstance(original, Tensor) else list(original)
        self._names = ["original"] if self.is_tensor else [f"original{i}" for i in range(len(parts))]
        for name, part in zip(self._names, parts):
            value = part.detach().clone()
            if parameter:
                self.register_parameter(name, Parameter(value, trained))
            else:
                self.register_buffer(name, value)

    def originals(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._names]

    def forward(self) -> Tensor:
        first, *others = self
        value = first(*self.originals())
        for module in others:
            value = module(value)
        return value

    def right_inverse(self, value: Any) -> None:
        """Set `original` so that forward() gives `value`."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse: assigning needs it"
                    )
                value = module.right_inverse(value)
            for original, part in zip(self.originals(), [value] if self.is_tensor else value):
                original.copy_(part)


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
    before = original = getattr(module, tensor_name)
    if hasattr(parametrization, "right_inverse"):
        with no_grad(), suppress(NotImplementedError):  # an inverse may be refused: the parameter is taken as it is
            original = parametrization.right_inverse(before.detach())
    made = ParametrizationList([parametrization], original, before.requires_grad, isinstance(before, Parameter))
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
    if not (leave_parametrized or made.is_tensor):
        raise ValueError(
            "leave_parametrized=False cannot be used when the parametrization is computed from several tensors"
        )
    original = made.originals()[0]
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

"""Modules that hold other modules or parameters: Sequential, ModuleList, ModuleDict and their like."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mytorch.nn.parameter import Parameter
from mytorch.tensor import Tensor

from .module import Module, indent

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


def _position(index: Any, length: int) -> int:
    position = operator.index(index)
    if not -length <= position < length:
        raise IndexError(f"index {position} is out of range")
    return position % length


class _Numbered(Module):
    """List operations for items stored in an ordered dict, which `_kept` returns."""

    @property
    def _kept(self) -> dict[str, Any]:
        return self._modules

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._kept.values())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])  # type: ignore[call-arg]
        return list(self)[_position(index, len(self))]

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, list(self._kept)[_position(index, len(self))], value)

    def append(self, value: Any) -> Any:
        raise NotImplementedError

    def extend(self, values: Iterable[Any]) -> Any:
        for value in values:
            self.append(value)
        return self


class _ModuleSequence(_Numbered):
    """A list of modules; their numbers stay consecutive when one is inserted or removed."""

    def __delitem__(self, index: Any) -> None:
        modules = list(self)
        del modules[index if isinstance(index, slice) else _position(index, len(self))]
        self._renumber(modules)

    def _renumber(self, modules: list) -> None:
        self._modules = {str(i): module for i, module in enumerate(modules)}

    def append(self, value: Module) -> Any:
        self.add_module(str(len(self)), value)
        return self

    def insert(self, index: int, module: Module) -> Any:
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def pop(self, key: int) -> Module:
        module = self[key]
        del self[key]
        return module


class Sequential(_ModuleSequence):
    """Runs its modules one after the other."""

    def __init__(self, *args: Any):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            self.extend(args)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]
        return input

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):  # names are kept
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return super().__getitem__(index)

    def __add__(self, other: Any) -> Sequential:
        return Sequential(*self, *self._modules_of(other))

    def __iadd__(self, other: Any) -> Sequential:
        return self.extend(self._modules_of(other))

    @staticmethod
    def _modules_of(other: Any) -> list:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return list(other)

    def __mul__(self, times: int) -> Sequential:
        """The same modules again: their weights are shared."""
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(times)}")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for {type(self)}")
        return Sequential(*list(self) * times)

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Sequential:
        return self.extend(list(self * times)[len(self) :])


class ModuleList(_ModuleSequence):
    """A list of modules whose parameters are found."""

    def __init__(self, modules: Iterable[Module] | None = None):
        super().__init__()
        self.extend(modules or ())

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return type(self)([*self, *other])

    def __repr__(self) -> str:
        """Equal neighbours are printed once, as `(0-3): 4 x Linear(…)`."""
        runs: list[tuple[int, str]] = []  # first position of the run, text
        for position, text in enumerate(map(repr, self)):
            if not runs or runs[-1][1] != text:
                runs.append((position, text))
        if not runs:
            return f"{self._get_name()}()"
        lines = []
        for (start, text), end in zip(runs, [start for start, _ in runs[1:]] + [len(self)]):
            alone = end - start == 1
            head = f"({start}): {text}" if alone else f"({start}-{end - 1}): {end - start} x {text}"
            lines.append(indent(head))
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dict of modules whose parameters are found."""

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None):
        super().__init__()
        self.update(modules or {})

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def keys(self) -> Iterable[str]:
        return self._modules.keys()

    def values(self) -> Iterable[Any]:
        return self._modules.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        return self._modules.items()

    def pop(self, key: str) -> Module:
        module = self[key]
        del self[key]
        return module

    def clear(self) -> None:
        self._modules.clear()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        for name, module in modules.items() if isinstance(modules, Mapping) else modules:
            self[name] = module


class ParameterList(_Numbered):
    """A list of parameters (tensors become parameters) that the module they are in finds."""

    def __init__(self, values: Iterable[Any] | None = None):
        super().__init__()
        self.extend(values or ())

    @property
    def _kept(self) -> dict[str, Any]:
        return self._parameters

    def __setitem__(self, index: int, value: Any) -> None:
        super().__setitem__(index, _parameter(value))

    def append(self, value: Any) -> ParameterList:
        self.register_parameter(str(len(self)), _parameter(value))
        return self

    def extra_repr(self) -> str:
        lines = []
        for name, parameter in self._parameters.items():
            size = "x".join(str(length) for length in parameter.shape)  # type: ignore[union-attr]
            kind = str(parameter.dtype)  # type: ignore[union-attr]
            lines.append(f"  ({name}): Parameter containing: [{kind} of size {size}]")
        return "\n".join(lines)


class ParameterDict(Module):
    """A dict of parameters (tensors become parameters) that the module they are in finds."""

    def __init__(self, parameters: Any = None):
        super().__init__()
        self.update(parameters or {})

    def __getitem__(self, key: str) -> Any:
        return self._parameters[key]

    def __setitem__(self, key: str, parameter: Any) -> None:
        self.register_parameter(str(key), _parameter(parameter))

    def __delitem__(self, key: str) -> None:
        del self._parameters[key]

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __contains__(self, key: object) -> bool:
        return key in self._parameters

    def get(self, key: str, default: Any = None) -> Any:
        return self._parameters.get(key, default)

    def keys(self) -> Iterable[str]:
        return self._parameters.keys()

    def values(self) -> Iterable[Any]:
        return self._parameters.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        return self._parameters.items()

    def pop(self, key: str) -> Any:
        parameter = self[key]
        del self[key]
        return parameter

    def clear(self) -> None:
        self._parameters.clear()

    def update(self, parameters: Any) -> None:
        for name, parameter in parameters.items() if hasattr(parameters, "items") else parameters:
            self[name] = parameter

    def extra_repr(self) -> str:
        lines = []
        for name, parameter in self._parameters.items():
            size = "x".join(str(length) for length in parameter.shape)  # type: ignore[union-attr]
            lines.append(f"  ({name}): Parameter containing: [torch.{parameter.type()[6:]} of size {size}]")  # type: ignore[union-attr]
        return "\n".join(lines)


def _parameter(value: Any) -> Parameter:
    if isinstance(value, Parameter):
        return value
    if isinstance(value, Tensor):
        return Parameter(value)
    raise TypeError(f"ParameterList takes Parameters and Tensors, but got {type(value).__name__}: wrap it")

"""Walking a Module's tree: parameters, buffers, children and modules, each shared one visited once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar, cast

from mytorch.nn.parameter import Parameter
from mytorch.tensor import Tensor

if TYPE_CHECKING:
    from .module import Module

Self = TypeVar("Self", bound="Traversal")


class Traversal:
    """The part of Module that finds what is inside it, in the order of registration."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]

    def named_children(self) -> Iterator[tuple[str, Module]]:
        seen: set[int] = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        for _, module in self.named_children():
            yield module

    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, cast("Module", self)
        for name, module in self._modules.items():
            if module is not None:
                below = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, below, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        for _, module in self.named_modules():
            yield module

    def _named_members(self, table: str, prefix: str, recurse: bool, remove_duplicate: bool) -> Iterator[tuple]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in getattr(module, table).items():
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def apply(self: Self, fn: Callable[[Module], object]) -> Self:
        """Calls fn on every submodule, then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(cast("Module", self))
        return self

    def get_submodule(self, target: str) -> Module:
        module = cast("Module", self)
        for name in target.split(".") if target else ():
            if name not in module._modules:
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            inner = module._modules[name]
            if inner is None:
                raise AttributeError(f"`{name}` is not an nn.Module")
            module = inner
        return module

    def get_parameter(self, target: str) -> Parameter:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if module._parameters.get(name) is None:
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`, or it is not an nn.Parameter")
        return cast(Parameter, module._parameters[name])

    def get_buffer(self, target: str) -> Tensor:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if module._buffers.get(name) is None:
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`, or it is not a buffer")
        return cast(Tensor, module._buffers[name])

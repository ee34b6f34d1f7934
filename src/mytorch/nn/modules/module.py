"""Module: a tree of parameters, buffers and submodules with a forward function, as torch.nn.Module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mytorch.nn.parameter import Buffer, Parameter
from mytorch.tensor import Tensor

from .backward_hook import BackwardHooks
from .convert import Conversion
from .state import State
from .traverse import Traversal


class RemovableHandle:
    """What registering a hook returns; `remove()` removes the hook again."""

    _next_id = 0

    def __init__(self, hooks: dict):
        self.hooks, self.id = hooks, RemovableHandle._next_id
        RemovableHandle._next_id += 1

    def remove(self) -> None:
        self.hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class Module(Traversal, State, Conversion):
    """Base of all layers and models. Parameters, modules and buffers set as attributes are registered."""

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]

    def __init__(self) -> None:
        # Written past __setattr__, which itself needs these tables.
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _non_persistent_buffers_set=set(),
            _modules={},
            _forward_hooks={},
            _forward_hooks_with_kwargs=set(),
            _forward_pre_hooks={},
            _forward_pre_hooks_with_kwargs=set(),
            _backward_hooks={},
            _backward_pre_hooks={},
        )

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function: define it'
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks:
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    # hooks

    def _call_with_hooks(self, args: tuple, kwargs: dict) -> Any:
        for number, hook in list(self._forward_pre_hooks.items()):
            if number in self._forward_pre_hooks_with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is not None:
                    args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        watch = None
        if self._backward_hooks or self._backward_pre_hooks:
            watch = BackwardHooks(self, list(self._backward_hooks.values()), list(self._backward_pre_hooks.values()))
            args = watch.watch_inputs(args)
        result = self.forward(*args, **kwargs)
        for number, hook in list(self._forward_hooks.items()):
            with_kwargs = number in self._forward_hooks_with_kwargs
            changed = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
            if changed is not None:
                result = changed
        if watch is not None:
            watch.watch_outputs(result)
        return result

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """`hook(module, args, output)` runs after forward; a value it returns replaces the output."""
        if always_call:
            raise NotImplementedError("mytorch has no always_call=True in register_forward_hook")
        handle = _add_hook(self._forward_hooks, hook, prepend)
        if with_kwargs:
            self._forward_hooks_with_kwargs.add(handle.id)
        return handle

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """`hook(module, args)` runs before forward; a value it returns replaces the arguments."""
        handle = _add_hook(self._forward_pre_hooks, hook, prepend)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs.add(handle.id)
        return handle

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """`hook(module, grad_input, grad_output)` runs in backward; a value it returns replaces grad_input."""
        return _add_hook(self._backward_hooks, hook, prepend)

    register_backward_hook = register_full_backward_hook  # its older name

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """`hook(module, grad_output)` runs before; a value it returns replaces grad_output."""
        return _add_hook(self._backward_pre_hooks, hook, prepend)

    # attributes

    def __getattr__(self, name: str) -> Any:
        # Only reached when ordinary lookup failed. vars() keeps a half-built copy from recursing.
        tables = vars(self)
        for table in ("_parameters", "_buffers", "_modules"):
            if name in tables.get(table, ()):
                return tables[table][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        tables = vars(self)
        if isinstance(value, Parameter):
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif name in tables.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self._parameters[name] = None
        elif isinstance(value, Module):
            self._forget(name, "_modules")
            self._modules[name] = value
        elif name in tables.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            self._modules[name] = None
        elif isinstance(value, Buffer):
            self._forget(name, "_buffers")
            self.register_buffer(name, value, value.persistent)
        elif name in tables.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as buffer '{name}' (torch.Tensor or None expected)"
                )
            self._buffers[name] = value
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name: str, kept: str) -> None:
        """A name is in one table only; setting a value of another kind removes it from the others."""
        if kept not in vars(self):
            what = "parameters" if kept == "_parameters" else "module"
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        vars(self).pop(name, None)
        for table in {"_parameters", "_buffers", "_modules"} - {kept}:
            vars(self)[table].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *vars(self), *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if name.isidentifier())

    def _check_name(self, name: str, kind: str, table: dict) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {_typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in table:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        if "_parameters" not in vars(self):
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name(name, "parameter", self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        if "_buffers" not in vars(self):
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name(name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_typename(module)} is not a Module subclass")
        self._check_name(name, "module", self._modules)
        self._modules[name] = module

    def register_module(self, name: str, module: Module | None) -> None:
        self.add_module(name, module)

    # repr

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        children = [f"({name}): {indent(repr(module))}" for name, module in self._modules.items()]
        if not children and "\n" not in extra:
            return f"{self._get_name()}({extra})"
        lines = (extra.split("\n") if extra else []) + children
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


def indent(text: str) -> str:
    """Every line but the first indented by two spaces, as torch prints nested modules."""
    return text.replace("\n", "\n  ")


def _add_hook(hooks: dict, hook: Callable, prepend: bool) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    later = dict(hooks) if prepend else {}
    if prepend:
        hooks.clear()
    hooks[handle.id] = hook
    hooks.update(later)
    return handle


def _typename(value: Any) -> str:
    if isinstance(value, Tensor):
        return value.type()
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"

"""state_dict and load_state_dict of a Module: flat dotted names, torch's rules and messages."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mytorch.nn.parameter import Parameter, Uninitialized
from mytorch.tensor import Tensor

if TYPE_CHECKING:
    from .module import Module

EXTRA = "_extra_state"  # the name torch saves a module's get_extra_state() under


class _IncompatibleKeys(namedtuple("_IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class State:
    """The part of Module that gives and takes its tensors by name."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]

    _version = 1  # of what is saved; a class whose names have changed raises it and reads it from local_metadata
    _state_hooks: dict[str, dict[int, Callable]]

    def state_dict(
        self, *args: Any, destination: dict | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Tensor]:
        """Dotted name → tensor, sharing memory with the module (detached unless keep_vars)."""
        if args:  # an older spelling, by position
            destination, prefix, keep_vars = (*args, *(destination, prefix, keep_vars)[len(args) :])  # type: ignore[misc]
        state: Any = destination
        if state is None:
            state = OrderedDict()
            state._metadata = OrderedDict()
        version = {"version": self._version}
        if hasattr(state, "_metadata"):
            state._metadata[prefix[:-1]] = version
        for hook in self._hooks_of("state_dict_pre"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(state, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=state, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._hooks_of("state_dict"):
            changed = hook(self, state, prefix, version)
            state = state if changed is None else changed
        return state

    def _save_to_state_dict(self, destination: dict, prefix: str, keep_vars: bool) -> None:
        """This module's own part; subclasses may override it to add or to leave out."""
        for name, tensor in self._own_state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + EXTRA] = self.get_extra_state()

    def get_extra_state(self) -> Any:
        raise RuntimeError("get_extra_state is called only where a module defines it")

    def set_extra_state(self, state: Any) -> None:
        raise RuntimeError("a module that defines get_extra_state must define set_extra_state as well")

    def _own_state(self) -> dict[str, Tensor]:
        own: dict[str, Tensor] = {k: p for k, p in self._parameters.items() if p is not None}
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                own[name] = buffer
        return own

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copies values by name (or takes them over: assign); arrays and torch tensors are accepted too."""
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        versions = getattr(state_dict, "_metadata", {})
        self._load(dict(state_dict), "", versions, assign, missing, unexpected, errors)
        if strict:
            for keys, word in ((unexpected, "Unexpected"), (missing, "Missing")):
                if keys:
                    listed = ", ".join(f'"{key}"' for key in keys)
                    errors.insert(0, f"{word} key(s) in state_dict: {listed}. ")
        if errors:
            listed = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
        return _IncompatibleKeys(missing, unexpected)

    def _load(
        self,
        state: dict,
        prefix: str,
        versions: Mapping[str, dict],
        assign: bool,
        missing: list,
        unexpected: list,
        errors: list,
    ) -> None:
        metadata = {**versions.get(prefix[:-1], {}), "assign_to_params_buffers": assign}
        for hook in self._hooks_of("load_pre"):
            hook(self, state, prefix, metadata, True, missing, unexpected, errors)
        self._load_from_state_dict(state, prefix, metadata, True, missing, unexpected, errors)
        for name, module in self._modules.items():
            if module is not None:
                below = f"{prefix}{name}."
                inner = {key: value for key, value in state.items() if key.startswith(below)}
                module._load(inner, below, versions, assign, missing, unexpected, errors)
        for hook in self._hooks_of("load_post"):
            hook(self, _IncompatibleKeys(missing, unexpected))

    def _load_from_state_dict(
        self,
        state_dict: dict,
        prefix: str,
        local_metadata: dict,
        strict: bool,
        missing_keys: list,
        unexpected_keys: list,
        error_msgs: list,
    ) -> None:
        """This module's own part; subclasses override it to read files with older names."""
        own = self._own_state()
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                self._load_one(name, tensor, key, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        if type(self).set_extra_state is not State.set_extra_state:
            if prefix + EXTRA in state_dict:
                self.set_extra_state(state_dict[prefix + EXTRA])
            else:
                missing_keys.append(prefix + EXTRA)
            own = {**own, EXTRA: Tensor(0)}
        for key in state_dict if strict else ():
            if key.startswith(prefix):
                head, dot, _ = key[len(prefix) :].partition(".")
                if head not in (self._modules if dot else own):
                    unexpected_keys.append(key)

    # hooks, by the moment they run at

    def _hooks_of(self, moment: str) -> list[Callable]:
        return list(vars(self).get("_state_hooks", {}).get(moment, {}).values())

    def _add_state_hook(self, moment: str, hook: Callable) -> Any:
        from .module import RemovableHandle

        table = vars(self).setdefault("_state_hooks", {}).setdefault(moment, {})
        handle = RemovableHandle(table)
        table[handle.id] = hook
        return handle

    def register_state_dict_pre_hook(self, hook: Callable) -> Any:
        """`hook(module, prefix, keep_vars)` runs before state_dict collects."""
        return self._add_state_hook("state_dict_pre", hook)

    def register_state_dict_post_hook(self, hook: Callable) -> Any:
        """`hook(module, state_dict, prefix, local_metadata)` runs after it has collected."""
        return self._add_state_hook("state_dict", hook)

    _register_state_dict_hook = register_state_dict_post_hook

    def register_load_state_dict_pre_hook(self, hook: Callable) -> Any:
        """`hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors)`, before loading."""
        return self._add_state_hook("load_pre", hook)

    def _register_load_state_dict_pre_hook(self, hook: Callable, with_module: bool = False) -> Any:
        return self._add_state_hook("load_pre", hook if with_module else (lambda module, *args: hook(*args)))

    def register_load_state_dict_post_hook(self, hook: Callable) -> Any:
        """`hook(module, incompatible_keys)` runs after loading and may change both lists."""
        return self._add_state_hook("load_post", hook)

    def _load_one(self, name: str, own: Tensor, key: str, value: Any, assign: bool, errors: list) -> None:
        array = array_of(value)
        if isinstance(own, Uninitialized) and array is not None and not isinstance(value, Uninitialized):
            own.materialize(array.shape)  # a lazy layer takes its sizes from what is loaded
        if array is None:
            errors.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object '
                f"from checkpoint but received {type(value)}"
            )
        elif array.shape != own._array.shape:
            errors.append(
                f"size mismatch for {key}: copying a param with shape torch.Size({list(array.shape)}) from "
                f"checkpoint, the shape in current model is torch.Size({list(own._array.shape)})."
            )
        elif assign:
            tensor = value.detach() if isinstance(value, Tensor) else Tensor(np.array(array))
            is_parameter = isinstance(own, Parameter)
            setattr(self, name, Parameter(tensor, own.requires_grad) if is_parameter else tensor)
        else:
            own._array[...] = array
            own._version[0] += 1


def array_of(value: Any) -> np.ndarray | None:
    """The array inside a mytorch tensor, a NumPy array or (by duck typing) a torch tensor; else None."""
    if isinstance(value, Tensor):
        return value._array
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value)
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        return value.detach().cpu().numpy()
    return None

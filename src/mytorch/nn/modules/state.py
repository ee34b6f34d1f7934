"""state_dict and load_state_dict of a Module: flat dotted names, torch's rules and messages."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mytorch.nn.parameter import Parameter
from mytorch.tensor import Tensor

if TYPE_CHECKING:
    from .module import Module


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

    def state_dict(
        self, *, destination: dict | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Tensor]:
        """Dotted name → tensor, sharing memory with the module (detached unless keep_vars)."""
        state = OrderedDict() if destination is None else destination
        for name, tensor in self._own_state().items():
            state[prefix + name] = tensor if keep_vars else tensor.detach()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=state, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return state

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
        self._load(dict(state_dict), "", assign, missing, unexpected, errors)
        if strict:
            for keys, word in ((unexpected, "Unexpected"), (missing, "Missing")):
                if keys:
                    listed = ", ".join(f'"{key}"' for key in keys)
                    errors.insert(0, f"{word} key(s) in state_dict: {listed}. ")
        if errors:
            listed = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
        return _IncompatibleKeys(missing, unexpected)

    def _load(self, state: dict, prefix: str, assign: bool, missing: list, unexpected: list, errors: list) -> None:
        own = self._own_state()
        for name, tensor in own.items():
            key = prefix + name
            if key in state:
                self._load_one(name, tensor, key, state[key], assign, errors)
            else:
                missing.append(key)
        for key in state:
            head, dot, _ = key[len(prefix) :].partition(".")
            if head not in (self._modules if dot else own):
                unexpected.append(key)
        for name, module in self._modules.items():
            if module is not None:
                below = f"{prefix}{name}."
                inner = {key: value for key, value in state.items() if key.startswith(below)}
                module._load(inner, below, assign, missing, unexpected, errors)

    def _load_one(self, name: str, own: Tensor, key: str, value: Any, assign: bool, errors: list) -> None:
        array = array_of(value)
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

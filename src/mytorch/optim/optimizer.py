"""Optimizer: parameter groups, state and the loop over parameters; subclasses add the update of one parameter."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from threading import get_ident
from typing import Any

import numpy as np

from mytorch.gradmode import enable_grad
from mytorch.nn.modules.module import RemovableHandle
from mytorch.nn.modules.state import array_of
from mytorch.parallel import PASS, in_pieces
from mytorch.tensor import Tensor

ParamsT = Any  # tensors, dicts of a group, or (name, tensor) pairs
required = object()  # the default of a setting that has none, in optimisers written for early versions of torch

# Longer parameters are updated in pieces of this many values, so that the several passes of one update
# find them in the processor's cache.
PIECE = 1 << 16


class Optimizer:
    """Base of all optimisers: `_update(weight, grad, state, group)` changes one parameter in place."""

    def __init__(self, params: Any, defaults: dict[str, Any]):
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{params.type()}"
            )
        self.defaults = defaults
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._scratch: dict[tuple, np.ndarray] = {}
        self._before_step: dict[int, Callable] = {}
        self._after_step: dict[int, Callable] = {}
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        group = dict(param_group)
        params = group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of "
                "tensors in sets will change between runs. Please use a list instead."
            )
        params = [params] if isinstance(params, Tensor) else list(params)
        if params and all(isinstance(param, tuple) for param in params):  # as named_parameters() gives them
            group["param_names"] = [name for name, _ in params]
            params = [param for _, param in params]
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {_typename(param)}")
            if not param.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
        group["params"] = params
        for name, default in self.defaults.items():
            group.setdefault(name, default)
        if len(set(params)) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error",
                stacklevel=3,
            )
        known = {param for each in self.param_groups for param in each["params"]}
        if not known.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none:
                    param._grad = None
                elif param._grad is not None:
                    param._grad = Tensor(np.zeros_like(param._grad._array))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update of every parameter that has a gradient; a closure computes loss and gradients first."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        update, state = self._update, self.state
        for group in self.param_groups:
            settings = _numbers(group)
            negate = settings["maximize"]
            for param in group["params"]:
                if param._grad is not None:
                    weight, grad = param._array, param._grad._array
                    if weight.dtype.kind == "c":
                        weight, grad = _real_and_imaginary(weight), _real_and_imaginary(grad)
                    update(weight, -grad if negate else grad, state[param], settings)
                    param._version[0] += 1
        return loss

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` runs before every step; it may return other args and kwargs."""
        return self._add_step_hook(self._before_step, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` runs after every step."""
        return self._add_step_hook(self._after_step, hook)

    def _add_step_hook(self, hooks: dict, hook: Callable) -> RemovableHandle:
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        self.step = self._step_with_hooks  # type: ignore[method-assign]
        return handle

    def _step_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        for hook in list(self._before_step.values()):
            args, kwargs = hook(self, args, kwargs) or (args, kwargs)
        result = type(self).step(self, *args, **kwargs)
        for hook in list(self._after_step.values()):
            hook(self, args, kwargs)
        return result

    def _update(self, weight: np.ndarray, grad: np.ndarray, state: dict, group: dict) -> None:
        raise NotImplementedError(f"{type(self).__name__} defines no _update(weight, grad, state, group)")

    def _room(self, like: np.ndarray, which: int = 0) -> np.ndarray:
        """Scratch memory of an array's shape and type, kept from step to step; each thread has its own."""
        key = (like.shape, like.dtype, which, get_ident())
        room = self._scratch.get(key)
        if room is None:
            room = self._scratch[key] = np.empty(like.shape, like.dtype)
        return room

    def state_dict(self) -> dict[str, Any]:
        """torch's layout: state by the parameter's number, groups that list numbers."""
        numbers: dict[Tensor, int] = {}
        groups = []
        for group in self.param_groups:
            for param in group["params"]:
                numbers.setdefault(param, len(numbers))
            plain = {name: value for name, value in group.items() if name != "params"}
            groups.append(plain | {"params": [numbers[param] for param in group["params"]]})
        state = {numbers[param]: dict(values) for param, values in self.state.items() if values}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes a state dict of this library or torch; values are copied, in the parameters' types."""
        saved = state_dict["param_groups"]
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(ours["params"]) != len(theirs["params"]) for ours, theirs in zip(self.param_groups, saved)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        params: dict[int, Tensor] = {}
        for ours, theirs in zip(self.param_groups, saved):
            params.update(zip(theirs["params"], ours["params"]))
            for name, value in theirs.items():
                if name != "params":
                    ours[name] = deepcopy(value)
        self.state = defaultdict(dict)
        for number, values in state_dict["state"].items():
            param = params[int(number)]
            self.state[param] = {name: _own(name, value, param) for name, value in values.items()}

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._scratch, self._before_step, self._after_step = {}, {}, {}

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for number, group in enumerate(self.param_groups):
            text += f"\nParameter Group {number}\n"
            for name in sorted(group):
                if name != "params":
                    text += f"    {name}: {group[name]}\n"
        return text + ")"


def _real_and_imaginary(array: np.ndarray) -> np.ndarray:
    """The same memory as real numbers, of which an optimiser treats each by itself, as torch's do."""
    return array[..., None].view(array.real.dtype)


def _numbers(group: dict[str, Any]) -> dict[str, Any]:
    """A group in which settings that are tensors are numbers: `array *= tensor` would make another array."""
    settings = dict(group)
    for name, value in group.items():
        if isinstance(value, Tensor):
            settings[name] = value.item()
        elif value.__class__ is tuple:
            settings[name] = tuple([v.item() if isinstance(v, Tensor) else v for v in value])
    return settings


def _own(name: str, value: Any, param: Tensor) -> Any:
    if isinstance(value, list):
        return [_own(name, each, param) for each in value]
    array = array_of(value)
    if array is None:
        # Early versions of torch kept the step as a number.
        return Tensor(np.array(value, np.float32)) if name == "step" else deepcopy(value)
    return Tensor(np.array(array, array.dtype if name == "step" else param._array.dtype))


def zeros(like: np.ndarray) -> Tensor:
    return Tensor(np.zeros(like.shape, like.dtype))


def counter() -> Tensor:
    """The number of steps so far, as torch keeps it in a state dict."""
    return Tensor(np.zeros((), np.float32))


def pieces(*arrays: np.ndarray) -> Iterable[tuple[np.ndarray, ...]]:
    """The arrays as they are or, if they are long, consecutive pieces of them."""
    if arrays[0].size <= PIECE or not all(array.flags.c_contiguous for array in arrays):
        return (arrays,)
    return _stretches([array.reshape(-1) for array in arrays])


def for_pieces(work: Callable[..., Any], *arrays: np.ndarray) -> None:
    """work(*pieces) for all of pieces(*arrays), on all threads."""
    parts = list(pieces(*arrays))
    if len(parts) == 1:
        work(*arrays)
    else:
        passes = 4  # an update reads and writes about this many numbers for each of a parameter
        in_pieces(lambda some: [work(*part) for part in parts[some]], len(parts), passes * PASS * arrays[0].size)


def _stretches(flat: list[np.ndarray]) -> Iterator[tuple[np.ndarray, ...]]:
    for start in range(0, flat[0].size, PIECE):
        yield tuple(array[start : start + PIECE] for array in flat)


def check(lr: float, weight_decay: float, **others: float) -> None:
    """None of an optimiser's settings may be negative."""
    if not lr >= 0:
        raise ValueError(f"Invalid learning rate: {lr}")
    if not weight_decay >= 0:
        raise ValueError(f"Invalid weight_decay value: {weight_decay}")
    for name, value in others.items():
        if not value >= 0:
            raise ValueError(f"Invalid {name} value: {value}")


def _typename(value: Any) -> str:
    return type(value).__name__

"""Pruning: a parameter times a mask of zeros and ones, recomputed before every call of the layer.

`weight` becomes the parameter `weight_orig` and the buffer `weight_mask`, and is itself their product. Pruning again
chooses among what is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mytorch.nn.modules.module import Module
from mytorch.nn.parameter import Parameter
from mytorch.ops.order import topk
from mytorch.random import rand
from mytorch.tensor import Tensor


class BasePruningMethod:
    """A way to choose a mask: subclasses define compute_mask(values, mask so far) and say what PRUNING_TYPE is.

    "unstructured" chooses among single numbers, "structured" among slices along `dim`, "global" sees everything.
    """

    PRUNING_TYPE = "unstructured"
    _tensor_name = ""

    def __call__(self, module: Module, inputs: Any) -> None:
        object.__setattr__(module, self._tensor_name, self.apply_mask(module))

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} defines no compute_mask(t, default_mask)")

    def apply_mask(self, module: Module) -> Tensor:
        name = self._tensor_name
        return getattr(module, f"{name}_mask").to(getattr(module, f"{name}_orig").dtype) * getattr(
            module, f"{name}_orig"
        )

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Choose a mask for module.name, given what is already pruned, and register a hook on the module."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        values = (getattr(module, name) if importance_scores is None else importance_scores).detach()
        if importance_scores is not None and importance_scores.shape != getattr(module, name).shape:
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}")
        if f"{name}_orig" in module._parameters:
            mask = method._among_the_rest(values, module._buffers[f"{name}_mask"])  # type: ignore[arg-type]
        else:
            parameter = module._parameters.pop(name)
            module.register_parameter(f"{name}_orig", parameter)
            mask = method.compute_mask(values, Tensor(np.ones_like(values._array)))
        module.register_buffer(f"{name}_mask", mask)
        earlier = _remove_hook(module, name)
        if earlier is not None:
            method = PruningContainer(*(earlier if isinstance(earlier, PruningContainer) else (earlier,)), method)
        method(module, None)
        module.register_forward_pre_hook(method)
        return method

    def _among_the_rest(self, values: Tensor, mask: Tensor) -> Tensor:
        """The mask after pruning once more; the amount refers to what is not yet pruned."""
        array = mask._array.copy()
        if self.PRUNING_TYPE == "global":
            return self.compute_mask(values, Tensor(array))
        if self.PRUNING_TYPE == "unstructured":
            rest: Any = array == 1
        else:
            axis = self.dim % array.ndim  # type: ignore[attr-defined]
            others = tuple(d for d in range(array.ndim) if d != axis)
            rest = (slice(None),) * axis + (np.flatnonzero(array.sum(others)),)
        part = self.compute_mask(Tensor(values._array[rest]), Tensor(array[rest]))
        array[rest] = part._array
        return Tensor(array)

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A copy of t in which the elements to prune are 0; needs no module."""
        mask = Tensor(np.ones_like(t._array)) if default_mask is None else default_mask
        return t * self.compute_mask((t if importance_scores is None else importance_scores).detach(), mask)

    def remove(self, module: Module) -> None:
        remove(module, self._tensor_name)


class PruningContainer(BasePruningMethod):
    """The methods by which a parameter was pruned, in order. The mask keeps what none of them has pruned."""

    def __init__(self, *methods: BasePruningMethod):
        self._pruning_methods = methods
        self._tensor_name = methods[-1]._tensor_name if methods else ""

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        if method._tensor_name != self._tensor_name:
            raise ValueError(f"the container prunes {self._tensor_name!r}, but the method {method._tensor_name!r}")
        self._pruning_methods += (method,)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return self._pruning_methods[-1]._among_the_rest(t, default_mask)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._pruning_methods[index]


class Identity(BasePruningMethod):
    """A mask of ones: nothing is pruned, but the parameter gets the names of a pruned one."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class _ByAmount(BasePruningMethod):
    def __init__(self, amount: float):
        if isinstance(amount, bool) or not isinstance(amount, (int, float)):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        if amount < 0 or (isinstance(amount, float) and amount > 1):
            raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
        self.amount = amount

    def number(self, size: int) -> int:
        """How many of `size` elements to prune; a float is a fraction of them."""
        if isinstance(self.amount, float):
            return round(self.amount * size)
        if self.amount > size:
            raise ValueError(f"amount={self.amount} should be smaller than the number of parameters to prune={size}")
        return self.amount

    def without(self, scores: Tensor, mask: Tensor, largest: bool) -> Tensor:
        """The mask without the places of the largest (or smallest) scores."""
        array = mask._array.copy()
        count = self.number(scores._array.size)
        if count:
            array.reshape(-1)[topk(scores.reshape(-1), count, largest=largest)[1]._array] = 0
        return Tensor(array)


class RandomUnstructured(_ByAmount):
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return self.without(rand(t.shape), default_mask, largest=True)


class L1Unstructured(_ByAmount):
    """Prunes the numbers that are smallest in absolute value."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return self.without(t.abs(), default_mask, largest=False)


class _Structured(_ByAmount):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1):
        super().__init__(amount)
        self.dim = dim

    def scores(self, t: np.ndarray, axis: int) -> np.ndarray:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        axis, array = self.dim % t.ndim, default_mask._array.copy()
        count = self.number(t.shape[axis])
        lowest = np.argsort(self.scores(t._array, axis), kind="stable")[:count]
        array[(slice(None),) * axis + (lowest,)] = 0
        return Tensor(array)


class RandomStructured(_Structured):
    def scores(self, t: np.ndarray, axis: int) -> np.ndarray:
        return rand(t.shape[axis])._array


class LnStructured(_Structured):
    """Prunes the slices with the smallest n-norm."""

    def __init__(self, amount: float, n: float | str, dim: int = -1):
        super().__init__(amount, dim)
        self.n = n

    def scores(self, t: np.ndarray, axis: int) -> np.ndarray:
        slices = np.moveaxis(t, axis, 0).reshape(t.shape[axis], -1)
        return np.linalg.norm(slices, 2 if self.n == "fro" else float(self.n), axis=1)


class CustomFromMask(BasePruningMethod):
    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor):
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask * self.mask.to(default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Module:
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: float | str, dim: int, importance_scores: Tensor | None = None
) -> Module:
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any) -> None:
    """Prune several parameters as if they were one: parameters are pairs (module, name)."""
    parameters, given = list(parameters), importance_scores or {}
    values, masks = [], []
    for module, name in parameters:
        value = getattr(module, name).detach()._array
        score = given.get((module, name))
        values.append((value if score is None else score.detach()._array).reshape(-1))
        mask = module._buffers.get(f"{name}_mask")
        masks.append(np.ones(value.size, value.dtype) if mask is None else mask._array.reshape(-1))
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f"Only 'unstructured' PRUNING_TYPE supported for the `pruning_method`, got {method.PRUNING_TYPE}"
        )
    whole = method._among_the_rest(Tensor(np.concatenate(values)), Tensor(np.concatenate(masks)))._array
    ends = np.cumsum([v.size for v in values])
    for (module, name), part in zip(parameters, np.split(whole, ends[:-1])):
        custom_from_mask(module, name, Tensor(part.reshape(getattr(module, name).shape)))


def _remove_hook(module: Module, name: str) -> BasePruningMethod | None:
    for key, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return module._forward_pre_hooks.pop(key)
    return None


def remove(module: Module, name: str) -> Module:
    """Make the pruned value the parameter itself, permanently."""
    if _remove_hook(module, name) is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    original, mask = module._parameters.pop(f"{name}_orig"), module._buffers.pop(f"{name}_mask")
    module.__dict__.pop(name, None)
    original.data = original.detach() * mask  # type: ignore[union-attr, operator]
    module.register_parameter(name, original if isinstance(original, Parameter) else Parameter(original))
    return module


def is_pruned(module: Module) -> bool:
    return any(
        isinstance(hook, BasePruningMethod) for each in module.modules() for hook in each._forward_pre_hooks.values()
    )

"""torch.func: derivatives of functions as functions, a module called with other weights, and vmap as a loop."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import mytorch
from mytorch import autograd
from mytorch.absent import names_in
from mytorch.autograd_functional import jacobian
from mytorch.tensor import Tensor


def functional_call(
    module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: dict | None = None, **settings: Any
) -> Any:
    """module(*args) with the tensors of a dict (or several) in place of its parameters and buffers, by dotted name."""
    several = parameter_and_buffer_dicts if isinstance(parameter_and_buffer_dicts, (tuple, list)) else None
    values: dict[str, Tensor] = {}
    for each in several or [parameter_and_buffer_dicts]:
        values.update(each)
    replaced: list[tuple[dict, str, Any]] = []
    try:
        for name, value in values.items():
            path, _, last = name.rpartition(".")
            owner = module.get_submodule(path)
            table = owner._parameters if last in owner._parameters else owner._buffers
            if last not in table:
                raise KeyError(f"functional_call: the module has no parameter or buffer '{name}'")
            replaced.append((table, last, table[last]))
            table[last] = value
        given = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*given, **(kwargs or {}))
    finally:
        for table, last, before in reversed(replaced):
            table[last] = before


def _mapped(value: Any, function: Callable) -> Any:
    """function of every tensor in a nesting of dicts, lists and tuples."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, Mapping):
        return {key: _mapped(part, function) for key, part in value.items()}
    return type(value)(_mapped(part, function) for part in value) if isinstance(value, (list, tuple)) else value


def _leaves(value: Any) -> list[Tensor]:
    tensors: list[Tensor] = []
    _mapped(value, lambda tensor: tensors.append(tensor) or tensor)  # type: ignore[func-returns-value]
    return tensors


def grad_and_value(func: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
    """A function that gives (the gradient with respect to the argument, the value)."""

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        places = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        own = list(args)
        for place in places:  # the same values, asked about here alone
            own[place] = _mapped(args[place], lambda x: x * 1 if x.requires_grad else x.detach().requires_grad_())
        out = func(*own, **kwargs)
        value = out[0] if has_aux else out
        leaves = [leaf for place in places for leaf in _leaves(own[place])]
        outer = any(tensor.requires_grad for tensor in _leaves(list(args)))
        grads = autograd.grad(value, leaves, create_graph=True, allow_unused=True)
        ready = iter(mytorch.zeros_like(x) if g is None else g for g, x in zip(grads, leaves))
        gradients = [_mapped(own[place], lambda _: next(ready) if outer else next(ready).detach()) for place in places]
        gradient = gradients[0] if isinstance(argnums, int) else tuple(gradients)
        return (gradient, (value, out[1])) if has_aux else (gradient, value)

    return call


def grad(func: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return call


def jacrev(func: Callable, argnums: Any = 0, has_aux: bool = False, **settings: Any) -> Callable:
    """A function that gives the Jacobian for the argument (or a tuple, for several); an argument may hold tensors."""
    places = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    def call(*args: Any) -> Any:
        leaves = _leaves([args[place] for place in places])
        aux: list = []

        def rebuilt(parts: Any) -> Any:
            ready = iter(parts)
            built = tuple(_mapped(args[place], lambda _: next(ready)) for place in places)
            return built[0] if isinstance(argnums, int) else built

        def of_leaves(*values: Tensor) -> Any:
            own, new = list(args), rebuilt(values)
            for place, value in zip(places, (new,) if isinstance(argnums, int) else new):
                own[place] = value
            out = func(*own)
            if has_aux:
                out, aux[:] = out[0], [out[1]]
            return out

        parts = jacobian(of_leaves, tuple(leaves), create_graph=any(x.requires_grad for x in leaves))
        several = isinstance(parts[0], tuple)  # one row of parts per output
        result = tuple(rebuilt(row) for row in parts) if several else rebuilt(parts)
        return (result, aux[0]) if has_aux else result

    return call


jacfwd = jacrev  # the same numbers, found backwards


def hessian(func: Callable, argnums: Any = 0) -> Callable:
    return jacrev(jacrev(func, argnums), argnums)


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """The value, and a function from a vector to its product with the Jacobian."""
    own, nested = _asked_about(primals)
    leaves = _leaves(own)
    out = func(*own)
    out, aux = out if has_aux else (out, None)

    def back(*cotangents: Any) -> tuple:
        gradients = autograd.grad(
            _leaves(out), leaves, _leaves(list(cotangents)), retain_graph=True, create_graph=nested, allow_unused=True
        )
        ready = iter(mytorch.zeros_like(x) if g is None else g for g, x in zip(gradients, leaves))
        return tuple(_mapped(x, lambda _: next(ready)) for x in own)

    value = out if nested else _mapped(out, lambda leaf: leaf.detach())
    return (value, back, aux) if has_aux else (value, back)


def jvp(func: Callable, primals: tuple, tangents: tuple, *, has_aux: bool = False) -> tuple:
    """The value, and the Jacobian's product with the tangents, found by going backwards twice."""
    own, nested = _asked_about(primals)
    out = func(*own)
    out, aux = out if has_aux else (out, None)
    outs = _leaves(out)
    probes = [mytorch.zeros_like(o).requires_grad_() for o in outs]  # the gradients are linear in these
    gradients = autograd.grad(outs, _leaves(own), probes, create_graph=True, allow_unused=True)
    pairs = [(g, t) for g, t in zip(gradients, _leaves(list(tangents))) if g is not None and g.requires_grad]
    products: Any = [None] * len(probes)
    if pairs:
        ours, theirs = zip(*pairs)
        products = autograd.grad(ours, probes, theirs, create_graph=nested, allow_unused=True)
    ready = iter(mytorch.zeros_like(o) if p is None else p for p, o in zip(products, probes))
    product = _mapped(out, lambda _: next(ready))
    value = out if nested else _mapped(out, lambda leaf: leaf.detach())
    return (value, product, aux) if has_aux else (value, product)


def _asked_about(primals: Any) -> tuple[list, bool]:
    """Tensors over the same values that only this call differentiates; and whether an outer call does so too."""
    own = [_mapped(x, lambda leaf: leaf * 1 if leaf.requires_grad else leaf.detach().requires_grad_()) for x in primals]
    return own, any(leaf.requires_grad for leaf in _leaves(list(primals)))


def vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", **settings: Any) -> Callable:
    """func for every row, one after the other, and the results stacked."""

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        dims = in_dims if isinstance(in_dims, (tuple, list)) else (in_dims,) * len(args)
        sizes = [leaf.shape[dim] for arg, dim in zip(args, dims) if dim is not None for leaf in _leaves(arg)]
        if not sizes or len(set(sizes)) != 1:
            raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got {sizes}")
        rows = []
        for i in range(sizes[0]):
            row = [
                arg if dim is None else _mapped(arg, lambda x, dim=dim, i=i: x.select(dim, i))
                for arg, dim in zip(args, dims)
            ]
            rows.append(func(*row, **kwargs))
        return _stacked(rows, out_dims)

    return call


def _stacked(rows: list, dim: int) -> Any:
    first = rows[0]
    if isinstance(first, Tensor):
        return mytorch.stack(rows, dim)
    if isinstance(first, Mapping):
        return {key: _stacked([row[key] for row in rows], dim) for key in first}
    return type(first)(_stacked(list(parts), dim) for parts in zip(*rows))


def stack_module_state(models: list) -> tuple[dict, dict]:
    """The parameters and the buffers of several modules of one kind, stacked by name."""
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    stacked = {name: mytorch.stack([p[name].detach() for p in parameters]).requires_grad_() for name in parameters[0]}
    return stacked, {name: mytorch.stack([b[name] for b in buffers]) for name in buffers[0]}


__getattr__ = names_in("torch.func")

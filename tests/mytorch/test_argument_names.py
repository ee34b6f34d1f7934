"""Arguments have torch's names: every function that both libraries have is compared by signature or schema."""

from __future__ import annotations

import importlib
import inspect
import warnings

import numpy as np
import pytest
import torch
from oracle import check

import mytorch

# Accepted by torch and without a meaning on one CPU, or spelled in another way for all functions here.
EVERYWHERE = {"out", "device", "layout", "pin_memory", "memory_format", "self", "dtype", "names", "out_dtype"}
EVERYWHERE |= {"cudnn_enable", "cudnn_enabled", "size_average", "reduce"}
SECTIONS = {
    "indices",
    "sections",
    "tensor_indices_or_sections",
}  # functions take the first two
KNOWN = {
    "random_": {"from"},  # a word of Python: only by position
    "uniform_": {"from"},
    "tensor_split": SECTIONS,
    "hsplit": SECTIONS,
    "vsplit": SECTIONS,
    "dsplit": SECTIONS,
    "eq": {"a", "b"},  # of lists, in TorchScript
    "ne": {"a", "b"},
    "sort": {"reverse"},
    "isin": {"element", "test_element"},  # only where one of the two is a number
    "result_type": {"tensor", "other", "scalar", "scalar1", "scalar2"},
    "expand": {"implicit"},
    "copy_": {"other"},  # torch takes src as well
    "rrelu": {"generator"},
    "default_convert": {"data"},
    "jvp": {"strict"},
    "scaled_modified_bessel_k0": {"x"},  # accepted, as NumPy's name of input
    "scaled_modified_bessel_k1": {"x"},
    "spherical_bessel_j0": {"x"},
}
PREFIXES = {"linalg": "linalg_", "fft": "fft_", "special": "special_"}  # of the names in the table of schemas
MODULES = ["", *PREFIXES, "Tensor", "nn.functional", "nn.init", "nn.utils", "autograd", "autograd.functional", "func"]
MODULES += ["utils.data", "signal.windows"]


def schemas(name, method):
    """The arguments of each overload that takes a tensor; torch's own parser reads them from the same table."""
    packet = getattr(torch.ops.aten, name, None)
    for overload in packet.overloads() if packet else ():
        arguments = getattr(packet, overload)._schema.arguments
        kinds = [str(a.type) for a in arguments]
        plain = not any(a.is_out for a in arguments) and not overload.startswith(("t", "int", "str", "from"))
        if plain and any(k.startswith(("Tensor", "List[Tensor]")) for k in kinds) and "List[t]" not in kinds:
            names = [a.name for a in arguments]
            if not method:
                yield ["input" if n == "self" else n for n in names]
            elif "self" in names:
                yield names


def arguments_of(function, name, method):
    try:
        parameters = inspect.signature(function).parameters.values()
        return [[p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]]
    except (TypeError, ValueError):  # written in C++
        return schemas(name, method)


@pytest.mark.parametrize("module", MODULES)
def test_arguments_have_torchs_names(module):
    here, there = mytorch, torch
    for part in module.split(".") if module else ():
        there, here = getattr(there, part), getattr(here, part, None) or importlib.import_module(f"mytorch.{module}")
    lacking = {}
    for name in [name for name in dir(there) if not name.startswith("_")]:
        with warnings.catch_warnings(action="ignore"):
            theirs = getattr(there, name)
        try:
            ours = getattr(here, name)
        except (AttributeError, NotImplementedError):
            continue
        if not inspect.isfunction(ours) or inspect.isclass(theirs) or not callable(theirs):
            continue
        parameters = inspect.signature(ours).parameters
        if any(p.kind == p.VAR_KEYWORD for p in parameters.values()):
            continue
        names = {n for row in arguments_of(theirs, PREFIXES.get(module, "") + name, module == "Tensor") for n in row}
        missing = names - set(parameters) - EVERYWHERE - KNOWN.get(name, set())
        if missing:
            lacking[name] = sorted(missing)
    assert not lacking


CALLS = {
    "products": lambda lib, a, v: [lib.mm(a, mat2=a), lib.mv(input=a, vec=v), lib.dot(v, tensor=v), a.mm(mat2=a)],
    "det": lambda lib, a, v: [lib.det(input=a), lib.inverse(input=a), lib.linalg.inv(A=a), lib.linalg.norm(input=a)],
    "triangles": lambda lib, a, v: [lib.cholesky_solve(input=a, input2=a.tril()), lib.cholesky_inverse(input=a.tril())],
    "split": lambda lib, a, v: [*lib.split(tensor=a, split_size_or_sections=1), *a.split(split_size=1)],
    "sections": lambda lib, a, v: [*lib.hsplit(a, sections=2), *lib.tensor_split(a, indices=[1])],
    "NumPy's": lambda lib, a, v: [lib.sum(a, axis=0, keepdims=True), lib.abs(x=a), lib.diff(a, axis=0)],
    "axis": lambda lib, a, v: [lib.index_select(a, axis=1, index=lib.tensor([0])), lib.swapaxes(a, axis0=0, axis1=1)],
    "gather": lambda lib, a, v: [f(a, axis=0, index=lib.tensor([[1]])) for f in (lib.gather, lib.Tensor.gather)],
    "other": lambda lib, a, v: [lib.max(a, other=a.T), a.min(other=a.T)],
    "weighted": lambda lib, a, v: [
        getattr(lib.nn.functional, f)(a, a.T * 2, reduction=how, weight=a.detach() ** 2)
        for f in ("mse_loss", "l1_loss")
        for how in ("mean", "sum", "none")
    ],
    "einsum": lambda lib, a, v: [lib.einsum(a, [0, 1], v, [1], [0]), lib.einsum(a, [..., 3], a, [..., 30])],
    "einsum of one": lambda lib, a, v: [lib.einsum(a, [1, 0]), lib.einsum(a, [0, 0], []), lib.einsum(a, [30, 3])],
    "embedding": lambda lib, a, v: [
        lib.embedding(a, indices=lib.tensor([1, 0])),
        lib.alpha_dropout(a, 0.5, train=False),
    ],
    "asarray": lambda lib, a, v: [lib.asarray(obj=[1.0], requires_grad=True) * 2, lib.broadcast_to(v, size=(2, 2))],
    "random": lambda lib, a, v: [lib.randperm(1, requires_grad=False), lib.rand_like(a, generator=lib.Generator()) * 0],
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_by_name(name):
    check(CALLS[name], np.array([[2.0, 0.3], [0.5, 1.5]]), (2,))


@pytest.mark.filterwarnings("ignore:.grad_variables.")
def test_backward_of_several_tensors_by_name():
    for seed in ("grad_tensors", "grad_variables"):
        gradients = []
        for lib in (mytorch, torch):
            x = lib.ones(2, requires_grad=True)
            lib.autograd.backward(tensors=[x * 2, (x * x).sum()], **{seed: [lib.tensor([1.0, 3.0]), None]})
            gradients.append(x.grad.tolist())
        assert gradients[0] == gradients[1]

"""torch's compiler, where a run asks for it, or where a user's model does by itself."""

from __future__ import annotations

import sys
from typing import Any

import torch

from replab.backends import products


def compile_in_place(model: Any) -> None:
    """The model computes compiled from now on, and its parameters keep their names.

    As `model.compile()`, which leaves models of torch's own classes as they are: the compiler takes no call that begins
    in torch's files, as that of an nn.Sequential does. Here it begins in ours.
    """
    call = model._call_impl

    def whole(*args: Any, **named: Any) -> Any:
        return call(*args, **named)

    model._compiled_call_impl = torch.compile(whole)


def leave_products_alone() -> None:
    """The compiler, where it is imported, does not compile our products of matrices: it makes its own."""
    if "torch._dynamo" in sys.modules:
        from torch._dynamo.eval_frame import skip_code

        for function in (products.mm, products.addmm, products.suits):
            skip_code(function.__code__)

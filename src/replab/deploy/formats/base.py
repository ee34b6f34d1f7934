"""The kind of all formats, and what several of them need: one program of tensors, made by torch.export."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replab.errors import ModelError
from replab.registry import Kind

if TYPE_CHECKING:
    from replab.deploy.deployed import Deployed

Outputs = Callable[..., np.ndarray]  # arrays, as the inputs are named → the output

file_format = Kind("format", "replab.deploy.formats", "file_format", "known: {names}")


def program(deployed: Deployed, name: str, code: Path | None = None) -> Any:
    """The model as torch.export reads it, free in its number of images. `code`: a user's file, to name the line.

    Every format but the weights is made of it, or after it: tracing would keep one side of a branch and say nothing.
    """
    import torch

    free = {key: dict.fromkeys(dims, torch.export.Dim.DYNAMIC) for key, dims in deployed.free.items()}

    def exported(strict: bool) -> Any:
        with silent(), torch.no_grad(), plain_attention():
            return torch.export.export(deployed, deployed.example(3), dynamic_shapes=free, strict=strict)

    try:
        try:
            return exported(strict=False)
        except Exception as error:
            if _by_values(error):
                raise
            return exported(strict=True)  # slower: it reads Python's bytecode, and len(x) stays free
    except Exception as error:
        if _by_values(error):
            raise ModelError(
                f"{name} decides by the values it computes{_line(error, code)}, and a file holds one way only;"
                " torch.where keeps both, and replab predict needs no file"
            ) from None
        text = " ".join(str(error).split())[:200]
        raise ModelError(
            f"torch.export cannot follow {name}{_line(error, code)}; --safetensors needs no export"
            f" ({type(error).__name__}: {text})"
        ) from None


def _by_values(error: Exception) -> bool:
    return "DataDependent" in type(error).__name__ or "data-dependent" in str(error).lower()


@contextlib.contextmanager
def plain_attention() -> Iterator[None]:
    """Without the fused kernels that attention takes in eval mode: exporters know only their parts."""
    import torch

    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Exporters talk: of deprecations in their own code, of passes and versions."""
    with (
        warnings.catch_warnings(action="ignore"),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        before = logging.root.manager.disable
        logging.disable(logging.ERROR)
        try:
            yield
        finally:
            logging.disable(before)


def _line(error: BaseException, code: Path | None) -> str:
    """Where in the user's file."""
    trace, line = error.__traceback__, 0
    while trace is not None:
        if code is not None and trace.tb_frame.f_code.co_filename == str(code):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" ({code.name if code else ''} line {line})" if line else ""

"""How a tensor prints: torch's layout, written from the values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .dtypes import default, of_array

if TYPE_CHECKING:
    from .tensor import Tensor

options: dict[str, Any] = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": float("inf"), "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    options.update(PROFILES.get(profile or "", {}))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    options.update({k: v for k, v in given.items() if v is not None})
    options["sci_mode"] = sci_mode


def tensor_text(tensor: Tensor) -> str:
    """tensor([1., 2.], dtype=torch.float64, requires_grad=True)"""
    array = tensor._array
    notes = []
    if array.size == 0 and array.shape != (0,):
        notes.append(f"size={tuple(array.shape)}")
    usual = (default(), np.result_type(default(), np.complex64), np.int64, np.bool_)
    if array.dtype not in usual or (array.size == 0 and array.dtype != default()):
        notes.append(f"dtype={of_array(array)}")
    if tensor._node is not None:
        notes.append(f"grad_fn={tensor._node!r}")
    elif tensor.requires_grad:
        notes.append("requires_grad=True")
    text = "tensor(" + (values_text(array, 7) if array.size else "[]")
    room = options["linewidth"]
    length = len(text.rpartition("\n")[2]) + 1  # torch breaks the line where a note would pass the width
    for note in notes:
        if length + len(note) + 2 > room:
            text += ",\n       " + note
            length = 7 + len(note)
        else:
            text += ", " + note
            length += len(note) + 2
    return text + ")"


def values_text(array: np.ndarray, indent: int) -> str:
    shorten = array.size > options["threshold"]
    shown = _edges(array) if shorten else array
    form, width = _formatter(shown)
    return _nested(array, form, width, indent, shorten)


def _edges(array: np.ndarray) -> np.ndarray:
    """The elements that are printed when the middle is left out; only they decide the width."""
    n = options["edgeitems"]
    for axis in range(array.ndim):
        if array.shape[axis] > 2 * n:
            keep = [*range(n), *range(array.shape[axis] - n, array.shape[axis])]
            array = array[(slice(None),) * axis + (keep,)]  # take() would first copy an expanded tensor as a whole
    return array


def _formatter(array: np.ndarray) -> tuple[Any, int]:
    """One width for all elements; whole numbers print as `1.`, a wide range in scientific notation."""
    if array.dtype.kind == "c":
        return _complex_formatter(array)
    if array.dtype.kind != "f":
        width = max((len(str(v)) for v in array.reshape(-1).tolist()), default=1)
        return lambda v: str(v).rjust(width), width
    precision = options["precision"]
    values = array.astype(np.float64)
    good = np.abs(values[np.isfinite(values) & (values != 0)])
    low, high = (good.min(), good.max()) if good.size else (0.0, 0.0)
    whole = bool(good.size == 0 or (good == np.ceil(good)).all())
    scientific = good.size > 0 and bool(high / low > 1000.0 or high > 1e8 or (low < 1e-4 and not whole))
    if options["sci_mode"] is not None:
        scientific = bool(options["sci_mode"])

    def text(v: float) -> str:
        if not np.isfinite(v):
            return str(v)
        if scientific:
            return f"{v:.{precision}e}"
        return f"{v:.0f}." if whole else f"{v:.{precision}f}"

    finite = values[np.isfinite(values) & (values != 0)]
    width = max((len(text(v)) for v in finite.tolist()), default=1)
    return lambda v: text(v).rjust(width), width


def _complex_formatter(array: np.ndarray) -> tuple[Any, int]:
    """Real and imaginary parts have a width each."""
    (real, first), (imaginary, second) = _formatter(array.real), _formatter(array.imag)

    def text(v: complex) -> str:
        part = imaginary(v.imag).lstrip()
        return real(v.real) + ("" if part[0] == "-" else "+") + part + "j"

    return text, first + second + 1


def _nested(array: np.ndarray, form: Any, width: int, indent: int, shorten: bool) -> str:
    n = options["edgeitems"]
    if array.ndim == 0:
        return form(array.item()) if array.dtype.kind in "fc" else form(array.item()).strip()
    cut = shorten and array.shape[0] > 2 * n
    if array.ndim == 1:
        words = [form(v) for v in (array[:n].tolist() if cut else array.tolist())]
        if cut:
            words += [" ...", *[form(v) for v in array[-n:].tolist()]]
        per_line = max(1, (options["linewidth"] - indent) // (width + 2))
        lines = [", ".join(words[i : i + per_line]) for i in range(0, len(words), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    rows = [_nested(a, form, width, indent + 1, shorten) for a in (array[:n] if cut else array)]
    if cut:
        rows += ["...", *[_nested(a, form, width, indent + 1, shorten) for a in array[-n:]]]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(rows) + "]"

"""How much of torch mytorch covers, measured with torch's own samples: operators, modules, optimizers, errors.

    python tools/torch_coverage.py                       everything, a few minutes
    python tools/torch_coverage.py add nn.functional.pad some operators; each failure in full
    python tools/torch_coverage.py --only modules Conv1d

Samples come from torch.testing._internal: op_db (each operator's sample and error inputs), module_db, optim_db. An
operator exists when mytorch has its name; it passes when every sample gives torch's values, shapes and dtypes. Values
are compared in float32, gradients and gradients of gradients in float64. A sample that takes longer than the time
limit fails. Random operators are compared by shape and dtype alone.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.util
import itertools
import sys
import types
import unittest
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch
from coverage_layers import modules, optimizers
from coverage_samples import Difference, NotInTorch, Slow, flat, limited, ours, same, theirs, weighted_sum

import mytorch

KINDS = ("forward", "gradient", "gradgrad", "error")
RANDOM = {
    "bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal", "rand_like", "randint",
    "randint_like", "randn", "randn_like", "uniform", "empty", "empty_like", "empty_permuted", "empty_strided",
    "new_empty", "new_empty_strided", "nn.functional.alpha_dropout", "nn.functional.dropout",
    "nn.functional.dropout2d", "nn.functional.dropout3d", "nn.functional.feature_alpha_dropout",
    "nn.functional.rrelu", "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d",
    "pca_lowrank", "svd_lowrank",
}  # fmt: skip
# where torch and mytorch may choose differently, and what is compared instead
ABSOLUTE = {"linalg.eigh", "linalg.qr", "qr", "svd", "linalg.svd", "linalg.eig"}
# entries that are a formula around the operator
SKIPPED = {("linalg.pinv", "singular"), ("linalg.lstsq", "grad_oriented")}
# operators whose op_db entry calls the function in another way: library, sample's arguments -> result
CALLS: dict[str, Callable] = {
    "T": lambda lib, t: t.T,
    "H": lambda lib, t: t.H,
    "mT": lambda lib, t: t.mT,
    "mH": lambda lib, t: t.mH,
    "__getitem__": lambda lib, t, key: t[key],
    "einsum": lambda lib, tensors, equation: lib.einsum(equation, tensors),
    "where": lambda lib, t, condition, other: lib.where(condition, t, other),
    "nn.functional.embedding": lambda lib, weight, index, **kw: lib.nn.functional.embedding(index, weight, **kw),
    "nn.functional.embedding_bag": lambda lib, weight, index, **kw: lib.nn.functional.embedding_bag(
        index, weight, **kw
    ),
    "slice": lambda lib, t, *args, **kwargs: torch_slice(t, *args, **kwargs),
    "zero_": lambda lib, t: t.clone().zero_(),
    "fill": lambda lib, t, value: t.clone().fill_(value),
}


def torch_slice(t: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return t[(*[slice(None)] * (dim % t.ndim), slice(start, end, step))]


def databases() -> tuple[Any, Any, Any]:
    """op_db, module_db and optim_db; expecttest, which they import for tests of their own, may be missing."""
    if importlib.util.find_spec("expecttest") is None:
        stand_in = types.ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        sys.modules["expecttest"] = stand_in
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
        from torch.testing._internal.common_modules import module_db
        from torch.testing._internal.common_optimizers import optim_db
    return op_db, module_db, optim_db


def function_of(name: str, lib: Any) -> Any:
    """The function (or method) an operator's name means in a library; None if there is none."""
    found: Any = lib
    try:
        for part in name.split("."):
            found = getattr(found, part)
    except (AttributeError, NotImplementedError):
        found = None
    # torch.float is a dtype, Tensor.float a method
    if not callable(found) or isinstance(found, (type, types.ModuleType)) or type(found).__name__ == "dtype":
        found = getattr(lib.Tensor, name, None) or getattr(lib.Tensor, name + "_", None)
    if name in CALLS and (found is not None or name in ("slice", "fill")):
        return functools.partial(CALLS[name], lib)
    if found is not None and getattr(found, "__name__", "").endswith("_") and not name.endswith("_"):
        changed = found
        return lambda t, *args, **kwargs: changed(t.clone(), *args, **kwargs)  # only the in-place form exists
    return found


def results(op: Any, function: Callable, sample: Any, convert: Callable, order: int, lib: Any) -> tuple[list, list]:
    """The results of one sample, and its gradients (order 1) or the gradients of those (order 2)."""
    leaves: list = []
    args = [convert(sample.input, leaves), *[convert(a, leaves) for a in sample.args]]
    kwargs = {k: convert(v, leaves) for k, v in sample.kwargs.items()}
    out = function(*args, **kwargs)
    if not order:
        return flat(out), []
    if sample.output_process_fn_grad is not None and lib is torch:
        out = sample.output_process_fn_grad(out)
    elif sample.output_process_fn_grad is not None:
        with contextlib.suppress(Exception):
            out = sample.output_process_fn_grad(out)
    total, wanted = weighted_sum(flat(out), lib, 1), leaves
    if total is None:
        return flat(out), []
    grads = lib.autograd.grad(total, wanted, create_graph=order == 2, allow_unused=True)
    if order == 1:
        return flat(out), list(grads)
    total = weighted_sum([g for g in grads if g is not None], lib, 2)
    if total is None:
        return flat(out), []
    return flat(out), list(lib.autograd.grad(total, wanted, allow_unused=True))


def compare(op: Any, mine: Callable, sample: Any, order: int) -> None:
    absolute = op.name in ABSOLUTE
    random = op.name in RANDOM or bool(sample.kwargs.get("dropout_p"))
    if op.name == "nn.functional.multi_head_attention_forward":
        random = bool(sample.args[9])  # its dropout_p
    if random and order:
        return
    try:
        out_b, grads_b = results(op, op.op, sample, theirs, order, torch)
    except Exception as fault:
        raise NotInTorch from fault
    out_a, grads_a = results(op, mine, sample, ours, order, mytorch)
    if not order:
        same(out_a, out_b, random, absolute)
        return
    for i, (a, b) in enumerate(itertools.zip_longest(grads_a, grads_b)):
        # no gradient is a gradient of zeros
        if a is None and b is None:
            continue
        if a is None and not b.abs().sum():
            continue
        if b is None and not a.detach().abs().sum().item():
            continue
        if a is None or b is None:
            raise Difference(f"gradient {i} is {'missing' if a is None else 'not in torch'}")
        try:
            same(a, b)
        except Difference as fault:
            raise Difference(f"gradient {i}: {fault}") from None


def operator(op: Any, kinds: tuple[str, ...], most: int, seconds: float) -> dict[str, tuple[int, int, list[str]]]:
    """For each kind of check: samples that passed, samples tried, and the failures."""
    mine = function_of(op.name, mytorch)
    report: dict[str, tuple[int, int, list[str]]] = {}
    for kind in kinds:
        order = {"forward": 0, "gradient": 1, "gradgrad": 2}.get(kind)
        if order is None:
            report[kind] = _errors(op, mine, seconds)
            continue
        dtype = torch.float64 if order else torch.float32
        supported = op.supported_dtypes("cpu")
        if order and (op.name in RANDOM or not op.supports_autograd or dtype not in supported):
            continue
        if order == 2 and not op.supports_gradgrad:
            continue
        if dtype not in supported:
            dtype = next((d for d in (torch.int64, torch.bool) if d in supported), None)  # type: ignore[assignment]
            if dtype is None:
                continue
        passed, tried, faults = 0, 0, []
        for sample in _samples(op, dtype, bool(order), most):
            tried += 1
            try:
                with limited(seconds):
                    compare(op, mine, sample, order)
                passed += 1
            except NotInTorch:
                tried -= 1
            except Slow:
                faults.append("too slow")
            except Exception as fault:
                faults.append(f"{type(fault).__name__}: {str(fault).splitlines()[0] if str(fault) else ''}"[:160])
        report[kind] = (passed, tried, faults)
    return report


def _samples(op: Any, dtype: Any, requires_grad: bool, most: int) -> Iterator[Any]:
    torch.manual_seed(0)
    with contextlib.suppress(Exception):
        for count, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=requires_grad)):
            if count == most:
                return
            tensors = [t for t in flat([sample.input, sample.args, sample.kwargs]) if isinstance(t, torch.Tensor)]
            if any(t.layout != torch.strided or t.device.type != "cpu" for t in tensors):
                continue
            yield sample


def _errors(op: Any, mine: Callable, seconds: float) -> tuple[int, int, list[str]]:
    passed, tried, faults = 0, 0, []
    if op.error_inputs_func is None:
        return 0, 0, []
    with contextlib.suppress(Exception):
        samples = list(op.error_inputs("cpu"))
        for error in samples:
            sample = error.sample_input
            reference, text = _raised(lambda s=sample: results(op, op.op, s, theirs, 0, torch), seconds)
            if reference is None:
                continue  # torch itself does not raise here
            try:
                given = [ours(v) for v in (sample.input, sample.args, sample.kwargs)]
            except Exception:
                continue  # no such array (65 dims, another device)
            tried += 1
            got, words = _raised(lambda g=given: mine(g[0], *g[1], **g[2]), seconds)
            if got is reference or (reference is NotImplementedError and got in (RuntimeError, TypeError)):
                passed += 1
            else:
                name = "nothing" if got is None else got.__name__
                faults.append(f"error: {name} {words!r} against torch's {reference.__name__} {text!r}"[:230])
    return passed, tried, faults


def _raised(call: Callable, seconds: float) -> tuple[type | None, str]:
    try:
        with limited(seconds):
            call()
    except Slow:
        return Slow, "too slow"
    except Exception as fault:
        for kind in (NotImplementedError, RuntimeError, ValueError, IndexError, TypeError):
            if isinstance(fault, kind):
                return kind, str(fault).split("\n")[0][:90]
        return type(fault), str(fault).split("\n")[0][:90]
    return None, ""


def is_public(op: Any) -> bool:
    """Names a script can use: not torch's private ones, its CUDA templates or masked tensors."""
    first = op.name.split(".")[0]
    private = first.startswith("_") and not first.startswith("__")
    if (op.name, op.variant_test_name) in SKIPPED:
        return False
    return not private and first not in ("torch", "masked", "sparse") and not first.startswith("jiterator")


def operators(op_db: Any, names: list[str], kinds: tuple[str, ...], most: int, seconds: float, show: bool) -> None:
    chosen = [op for op in op_db if is_public(op) and (not names or op.name in names)]
    public = sorted({op.name for op in chosen})
    exist = [name for name in public if function_of(name, mytorch) is not None]
    totals: dict[str, dict[str, list]] = {kind: {} for kind in KINDS}
    for op in chosen:
        if op.name not in exist:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = operator(op, kinds, most, seconds)
        for kind, (passed, tried, faults) in report.items():
            if not tried:
                continue
            total = totals[kind].setdefault(op.name, [0, 0, Counter()])
            total[0] += passed
            total[1] += tried
            total[2].update(faults)
    print(f"operators: {len(public)} public names, {len(exist)} exist")
    missing = [name for name in public if name not in exist]
    for kind in kinds:
        done = totals[kind]
        full = [name for name, (passed, tried, _) in done.items() if passed == tried]
        passed, tried = (sum(t[i] for t in done.values()) for i in (0, 1))
        share = 100 * len(full) / max(len(done), 1)
        print(
            f"  {kind:9} {len(full)} of {len(done)} operators ({share:.1f} %), "
            f"{passed} of {tried} samples ({100 * passed / max(tried, 1):.1f} %)"
        )
    if show:
        print("missing:", " ".join(missing))
        for kind in kinds:
            for name, (passed, tried, faults) in sorted(totals[kind].items()):
                if passed < tried:
                    print(f"{kind} {name}: {passed} of {tried}")
                    for fault, count in faults.most_common(3 if not names else 30):
                        print(f"    {count} x {fault}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="operators (or modules, optimizers with --only) by torch's names")
    parser.add_argument("--only", choices=("operators", "modules", "optimizers"))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--samples", type=int, default=25, help="at most this many per operator and kind")
    parser.add_argument("--seconds", type=float, default=2.0, help="time limit per sample")
    parser.add_argument("--quiet", action="store_true", help="counts only")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    op_db, module_db, optim_db = databases()
    show = not arguments.quiet
    if arguments.only in (None, "operators"):
        operators(op_db, arguments.names, tuple(arguments.kinds), arguments.samples, arguments.seconds, show)
    if arguments.only in (None, "modules"):
        modules(module_db, arguments.names if arguments.only else [], arguments.seconds, show)
    if arguments.only in (None, "optimizers"):
        optimizers(optim_db, arguments.names if arguments.only else [], arguments.seconds, show)


if __name__ == "__main__":
    main()

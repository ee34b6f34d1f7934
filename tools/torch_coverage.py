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
import copy
import functools
import importlib.util
import itertools
import signal
import sys
import types
import unittest
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import mytorch

KINDS = ("forward", "gradient", "gradgrad", "error")
TOLERANCE = {torch.float32: (2e-4, 2e-5), torch.complex64: (2e-4, 2e-5)}
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


class Slow(BaseException):
    """A sample took too long. Not an Exception, so that nothing under test swallows it."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise Slow

    old = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


# ---- from one library to the other


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


def ours(value: Any, leaves: list | None = None) -> Any:
    """A sample's value for mytorch. Tensors that require grad become leaves, listed in the order met."""
    if isinstance(value, torch.Tensor):
        array = value.detach().resolve_conj().resolve_neg().numpy()
        made = mytorch.from_numpy(array.copy(order="K") if array.flags.owndata or array.size else array.copy())
        if isinstance(value, torch.nn.Parameter):
            made = mytorch.nn.Parameter(made, value.requires_grad)
        if value.requires_grad and leaves is not None:
            made.requires_grad_()
            leaves.append(made)
        return made
    if isinstance(value, torch.Size):
        return mytorch.Size(value)
    if isinstance(value, torch.dtype):
        return getattr(mytorch, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, torch.layout):
        return str(value)
    if isinstance(value, torch.memory_format):
        return getattr(mytorch, str(value).removeprefix("torch."))
    if isinstance(value, torch.Generator):
        return mytorch.Generator()
    if isinstance(value, torch.nn.TransformerEncoderLayer):
        heads, width = value.self_attn.num_heads, value.linear1.in_features
        return mytorch.nn.TransformerEncoderLayer(
            width,
            heads,
            value.linear1.out_features,
            value.dropout.p,
            ours(value.activation),
            value.norm1.eps,
            value.self_attn.batch_first,
            value.norm_first,
            value.linear1.bias is not None,
        )
    if isinstance(value, torch.nn.Module) and not list(value.parameters()):
        return getattr(mytorch.nn, type(value).__name__)()
    name = getattr(value, "__name__", " ")
    if callable(value) and getattr(torch.nn.functional, name, None) is value:
        return getattr(mytorch.nn.functional, name)
    return _inside(value, lambda v: ours(v, leaves))


def theirs(value: Any, leaves: list) -> Any:
    """A copy of a sample's value for torch, so that one run cannot disturb another."""
    if isinstance(value, torch.Tensor):
        made = value.detach().clone(memory_format=torch.preserve_format)
        if value.requires_grad:
            made.requires_grad_()
            leaves.append(made)
        return made
    return _inside(value, lambda v: theirs(v, leaves))


def _inside(value: Any, change: Callable) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[change(v) for v in value])
    if isinstance(value, (tuple, list)):
        return type(value)([change(v) for v in value])
    if isinstance(value, dict):
        return {k: change(v) for k, v in value.items()}
    if isinstance(value, slice):
        return slice(change(value.start), change(value.stop), change(value.step))
    return value


def flat(value: Any) -> list:
    if isinstance(value, (tuple, list)) and type(value).__name__ != "Size":
        return [v for part in value for v in flat(part)]
    if isinstance(value, dict):
        return flat(list(value.values()))
    return [value]


def weights(shape: tuple, dtype: torch.dtype, number: int) -> np.ndarray:
    rng = np.random.default_rng(number)
    w = rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape)
    if dtype.is_complex:
        w = w + 1j * rng.uniform(-1, 1, shape)
    return np.asarray(w, str(dtype).removeprefix("torch."))


class Difference(Exception):
    pass


class NotInTorch(Exception):
    """Torch itself cannot do this sample (a second derivative it does not have): nothing to compare."""


def same(mine: Any, reference: Any, random: bool = False, absolute: bool = False) -> None:
    a, b = flat(mine), flat(reference)
    if len(a) != len(b):
        raise Difference(f"{len(a)} results against torch's {len(b)}")
    for x, y in zip(a, b):
        if not isinstance(y, torch.Tensor):
            if isinstance(y, (float, complex)) and np.allclose(x, y, 2e-4, 2e-5, equal_nan=True):
                continue
            if str(x) != str(y):
                raise Difference(f"{x!r} against torch's {y!r}")
            continue
        if not isinstance(x, mytorch.Tensor):
            raise Difference(f"{type(x).__name__} against torch's tensor")
        if tuple(x.shape) != tuple(y.shape):
            raise Difference(f"shape {tuple(x.shape)} against torch's {tuple(y.shape)}")
        if str(x.dtype) != str(y.dtype):
            raise Difference(f"dtype {x.dtype} against torch's {y.dtype}")
        if random:
            continue
        rtol, atol = TOLERANCE.get(y.dtype, (1e-6, 1e-7))
        p, q = x.detach().numpy(), y.detach().resolve_conj().resolve_neg().numpy(force=True)
        if absolute:
            p, q = np.abs(p), np.abs(q)
        if not np.allclose(p, q, rtol, atol, equal_nan=True):
            where = ~np.isclose(p, q, rtol, atol, equal_nan=True)
            raise Difference(f"values: {np.asarray(p)[where][:3]} against torch's {np.asarray(q)[where][:3]}")


# ---- operators


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
    total, wanted = _weighted(flat(out), lib, 1), leaves
    if total is None:
        return flat(out), []
    grads = lib.autograd.grad(total, wanted, create_graph=order == 2, allow_unused=True)
    if order == 1:
        return flat(out), list(grads)
    total = _weighted([g for g in grads if g is not None], lib, 2)
    if total is None:
        return flat(out), []
    return flat(out), list(lib.autograd.grad(total, wanted, allow_unused=True))


def _weighted(parts: list, lib: Any, number: int) -> Any:
    total = None
    for i, part in enumerate(parts):
        if not isinstance(part, lib.Tensor) or not part.requires_grad:
            continue
        dtype = getattr(torch, str(part.dtype).removeprefix("torch."))
        weight = lib.from_numpy(weights(tuple(part.shape), dtype, 100 * number + i))
        term = (part * weight).sum()
        if dtype.is_complex:
            term = lib.view_as_real(term)[0]
        total = term if total is None else total + term
    return total


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


# ---- modules and optimizers


def modules(module_db: Any, names: list[str], seconds: float, show: bool) -> None:
    public = [m for m in module_db if m.module_cls.__module__.startswith("torch.nn.") and
              "quantiz" not in m.module_cls.__module__]  # fmt: skip
    public = [m for m in public if not names or m.module_cls.__name__ in names]
    exist, full, faults = [], [], {}
    for info in public:
        name = info.module_cls.__name__
        if getattr(mytorch.nn, name, None) is None:
            faults[name] = Counter(["missing"])
            continue
        exist.append(name)
        bad: Counter = Counter()
        for training in (True, False) if info.train_and_eval_differ else (True,):
            torch.manual_seed(0)
            inputs = info.module_inputs_func(info, "cpu", torch.float64, requires_grad=True, training=training)
            for entry in inputs:
                try:
                    with limited(seconds), warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        _module(info, name, entry, training)
                except Slow:
                    bad["too slow"] += 1
                except Exception as fault:
                    bad[f"{type(fault).__name__}: {str(fault).splitlines()[0] if str(fault) else ''}"[:160]] += 1
        if bad:
            faults[name] = bad
        else:
            full.append(name)
    print(f"modules: {len(public)} entries, {len(exist)} exist, {len(full)} pass in values and gradients")
    _failures("module", faults, show)


def _module(info: Any, name: str, entry: Any, training: bool) -> None:
    made, call = entry.constructor_input, entry.forward_input
    reference = info.module_cls(*copy.deepcopy(made.args), **copy.deepcopy(made.kwargs)).to(torch.float64)
    mine = getattr(mytorch.nn, name)(*ours(made.args), **ours(made.kwargs)).to(mytorch.float64)
    reference.train(training)
    mine.train(training)
    if call is None:
        return
    leaves_b: list = []
    args, keywords = theirs(call.args, leaves_b), theirs(call.kwargs, leaves_b)
    lazy = any(isinstance(p, torch.nn.parameter.UninitializedParameter) for p in reference.parameters())
    leaves_a: list = []
    own_args, own_keywords = ours(call.args, leaves_a), ours(call.kwargs, leaves_a)
    if lazy:
        reference(*args, **keywords)
        mine(*own_args, **own_keywords)
    mine.load_state_dict({k: ours(v) for k, v in reference.state_dict().items()})
    random = (training and "Dropout" in name) or (name == "RReLU" and training)
    if training and getattr(reference, "dropout", False) and name.startswith("Transformer"):
        reference.eval()
        mine.eval()
    out_b, out_a = reference(*args, **keywords), mine(*own_args, **own_keywords)
    same(out_a, out_b, random)
    if random:
        return
    totals = _weighted(flat(out_a), mytorch, 1), _weighted(flat(out_b), torch, 1)
    if totals[1] is None:
        return
    totals[0].backward()
    totals[1].backward()
    for a, b in zip(leaves_a, leaves_b):
        if b.grad is not None:
            same(a.grad, b.grad)
    grads = dict(mine.named_parameters())
    for key, parameter in reference.named_parameters():
        if parameter.grad is not None:
            same(grads[key].grad, parameter.grad)


def optimizers(optim_db: Any, names: list[str], seconds: float, show: bool) -> None:
    exist, full, faults = [], [], {}
    public = [info for info in optim_db if not names or info.optim_cls.__name__ in names]
    for info in public:
        name = info.optim_cls.__name__
        if getattr(mytorch.optim, name, None) is None:
            faults[name] = Counter(["missing"])
            continue
        exist.append(name)
        bad: Counter = Counter()
        for entry in info.optim_inputs_func(device="cpu"):
            try:
                with limited(seconds), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    _optimizer(name, info.optim_cls, entry.kwargs)
            except Slow:
                bad["too slow"] += 1
            except Exception as fault:
                bad[f"{entry.desc}: {type(fault).__name__}: {str(fault).splitlines()[0] if str(fault) else ''}"] += 1
        if bad:
            faults[name] = bad
        else:
            full.append(name)
    print(f"optimizers: {len(public)} entries, {len(exist)} exist, {len(full)} pass in all configurations")
    _failures("optimizer", faults, show)


def _optimizer(name: str, kind: type, kwargs: dict) -> None:
    rng = np.random.default_rng(0)
    starts = [rng.standard_normal(shape) for shape in ((3, 4), (4, 2))]
    x, target = rng.standard_normal((5, 3)), rng.standard_normal((5, 2))
    finals = []
    for lib, make in ((mytorch, getattr(mytorch.optim, name)), (torch, kind)):
        options = {k: v for k, v in kwargs.items() if k not in ("foreach", "fused", "capturable")}
        options = ours(options) if lib is mytorch else copy.deepcopy(options)
        params = [lib.nn.Parameter(lib.from_numpy(s.copy())) for s in starts]
        optimizer = make(params, **options)

        def closure(lib: Any = lib, params: list = params, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            out = (lib.from_numpy(x) @ params[0]).tanh() @ params[1]
            loss = ((out - lib.from_numpy(target)) ** 2).mean()
            loss.backward()
            return loss

        for _ in range(6):
            optimizer.step(closure)
        finals.append(params)
    same(finals[0], finals[1])


def _failures(word: str, faults: dict, show: bool) -> None:
    if not show:
        return
    print("missing:", " ".join(sorted(name for name, found in faults.items() if "missing" in found)))
    for name, found in sorted(faults.items()):
        if "missing" not in found:
            print(f"{word} {name}")
            for text, count in found.most_common(4):
                print(f"    {count} x {text}")


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

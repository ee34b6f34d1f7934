"""torch's modules and optimizers through mytorch: the parts of torch_coverage that are not operators."""

from __future__ import annotations

import copy
import warnings
from collections import Counter
from typing import Any

import numpy as np
import torch
from coverage_samples import Slow, flat, limited, ours, same, theirs, weighted_sum

import mytorch


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
    totals = weighted_sum(flat(out_a), mytorch, 1), weighted_sum(flat(out_b), torch, 1)
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

"""A fast part of tools/torch_coverage.py: torch's own samples of every operator, a few of each."""

import importlib.util
import re
import sys
import warnings
from pathlib import Path

import pytest
import torch

import mytorch

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def coverage():
    spec = importlib.util.spec_from_file_location("torch_coverage", ROOT / "tools" / "torch_coverage.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["torch_coverage"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def op_db(coverage):
    return coverage.databases()[0]


def shares(coverage, op_db, kind):
    """The share of operators whose first three samples all pass, and those that fail."""
    names, failed = set(), {}
    for op in op_db:
        if not coverage.is_public(op) or coverage.function_of(op.name, mytorch) is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = coverage.operator(op, (kind,), 3, 5.0)
        for passed, tried, faults in report.values():
            if tried:
                names.add(op.name)
            if passed < tried:
                failed[op.name] = faults[0]
    return 1 - len(failed) / len(names), names, failed


@pytest.mark.parametrize(("kind", "least"), [("forward", 0.97), ("gradient", 0.95), ("gradgrad", 0.85)])
def test_operators(coverage, op_db, kind, least):
    share, names, failed = shares(coverage, op_db, kind)
    assert share >= least, failed
    assert len(names) >= {"forward": 420, "gradient": 300, "gradgrad": 290}[kind]


def test_a_wrong_result_is_found(coverage, op_db, monkeypatch):
    (op,) = [op for op in op_db if op.name == "sin"]
    assert coverage.operator(op, ("forward",), 2, 5.0)["forward"][2] == []
    monkeypatch.setattr(mytorch, "sin", lambda x: x.cos())
    passed, _, faults = coverage.operator(op, ("forward",), 2, 5.0)["forward"]
    assert passed == 0
    assert "values" in faults[0]


def test_every_operation_is_compared_and_is_torchs(op_db):
    """What neither torch's samples nor a test of ours sees has not been compared."""
    tests = "\n".join(p.read_text() for p in Path(__file__).parent.rglob("test_*.py"))
    sampled = {op.name.rpartition(".")[2] for op in op_db} | {alias.name for op in op_db for alias in op.aliases}
    operations = mytorch.ops.FUNCTIONS
    methods = [n for n in vars(mytorch.Tensor) if not n.startswith("_")]
    names = {n for n in {*operations, *methods} if n not in sampled and n.removesuffix("_") not in sampled}
    assert sorted(n for n in names if not re.search(rf"\b{n}\b", tests)) == []
    assert [n for n in operations if not hasattr(torch, n)] == []
    assert [n for n in methods if not hasattr(torch.Tensor, n)] == []

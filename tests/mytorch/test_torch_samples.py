"""A fast part of tools/torch_coverage.py: torch's own samples for some of its operators."""

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
    sys.path.insert(0, str(ROOT / "tools"))  # it imports the files beside it
    spec = importlib.util.spec_from_file_location("torch_coverage", ROOT / "tools" / "torch_coverage.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["torch_coverage"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def op_db(coverage):
    with pytest.MonkeyPatch.context() as patch:
        # imported, torch's test modules forbid setting torch.backends flags, which later tests of this process do
        patch.setattr(torch.backends, "disable_global_flags", lambda: None)
        return coverage.databases()[0]


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def existing(coverage, op_db):
    return [op for op in op_db if coverage.is_public(op) and coverage.function_of(op.name, mytorch) is not None]


def test_most_operators_exist(coverage, op_db):
    assert len({op.name for op in existing(coverage, op_db)}) >= 550


@pytest.mark.parametrize(("kind", "first", "step"), [
    ("forward", 0, 20), ("gradient", 3, 32), ("gradgrad", 5, 64), ("error", 1, 20),
])  # fmt: skip
def test_some_operators(coverage, op_db, kind, first, step, one_thread):
    """Every twentieth operator or so, two samples of each; what is known to fail is named here."""
    failed = {}
    for op in existing(coverage, op_db)[first::step]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = coverage.operator(op, (kind,), 2, 10.0)
        for passed, tried, faults in report.values():
            if passed < tried:
                failed[op.name] = faults[0]
    assert set(failed) <= KNOWN[kind], failed


KNOWN = {
    "forward": {  # bfloat16 and sparse tensors are kept as float32 and dense
        "bfloat16", "matrix_exp", "nn.functional.embedding", "nn.functional.embedding_bag", "normal", "to_sparse",
    },
    "gradient": {"linalg.eig", "linalg.eigvals"},  # NumPy has no complex eigenvectors' derivative
    "gradgrad": {
        "copysign", "cov", "index_reduce", "linalg.det", "linalg.eig", "linalg.eigvals", "linalg.norm",
        "scatter_reduce",
    },
    "error": {"__radd__", "__rmul__", "index_add", "masked_fill", "narrow_copy", "multinomial", "arange", "normal"},
}  # fmt: skip


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

"""oneDNN's products are torch's up to rounding, and whatever it does not do is torch's own answer."""

import os
import subprocess
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from replab.backends import products

SIZES = st.integers(0, 40)
VIEWS = {
    "rows": lambda rows, columns: torch.randn(rows, columns),
    "transposed": lambda rows, columns: torch.randn(columns, rows).t(),
    "every second": lambda rows, columns: torch.randn(rows, 2 * columns)[:, ::2],
    "one row": lambda rows, columns: torch.randn(1, columns).expand(rows, columns),
    "shifted": lambda rows, columns: torch.randn(rows * columns + 1)[1:].view(rows, columns),
}
SCRIPT = """
import torch
from torch.profiler import profile
from replab.backends.backend import get
get("torch")
torch.manual_seed(0)
layer = torch.nn.Linear(256, 128)
x = torch.randn(64, 256, requires_grad=True)
with profile() as seen:
    layer(x).square().sum().backward()
exact = torch.nn.Linear(256, 128).double()
exact.load_state_dict(layer.state_dict())
y = x.detach().double().requires_grad_()
exact(y).square().sum().backward()
for found, right in ((x.grad, y.grad), (layer.weight.grad, exact.weight.grad), (layer.bias.grad, exact.bias.grad)):
    torch.testing.assert_close(found.double(), right, rtol=1e-5, atol=1e-4)
print(sum(event.count for event in seen.key_averages() if event.key == "mkldnn::_linear_pointwise"))
"""


@pytest.fixture
def any_size(monkeypatch):
    monkeypatch.setattr(products, "LEAST", 1)


@given(rows=SIZES, inner=SIZES, columns=SIZES, a=st.sampled_from(list(VIEWS)), b=st.sampled_from(list(VIEWS)))
def test_as_in_double_precision(rows, inner, columns, a, b):
    torch.manual_seed(0)
    left, right, bias = VIEWS[a](rows, inner), VIEWS[b](inner, columns), torch.randn(columns)
    exact = left.double() @ right.double()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "LEAST", 1)
        found, more = products.mm(left, right), products.addmm(bias, left, right)
    torch.testing.assert_close(found.double(), exact, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(more.double(), exact + bias, rtol=1e-4, atol=1e-4)
    assert found.is_contiguous()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int64, torch.complex64])
def test_other_types_keep_theirs(any_size, dtype):
    a, b = (torch.arange(12).reshape(shape).to(dtype) for shape in ((3, 4), (4, 3)))
    found = products.mm(a, b)
    assert found.dtype == dtype
    assert torch.equal(found, (a.double() @ b.double()).to(dtype) if dtype != torch.complex64 else a @ b)


def test_scaled_sums(any_size):
    torch.manual_seed(0)
    a, b, full = torch.randn(5, 6), torch.randn(6, 7), torch.randn(5, 7)
    torch.testing.assert_close(products.addmm(full, a, b, beta=0.5, alpha=2.0), 0.5 * full + 2 * (a @ b))
    torch.testing.assert_close(products.addmm(full, a, b), full + a @ b)
    torch.testing.assert_close(products.addmm(full[0], a, b, beta=0, alpha=3), 3 * (a @ b))


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (torch.ones(2, 3), torch.ones(2, 3), "cannot be multiplied"),
        (torch.ones(3), torch.ones(3, 3), "must be a matrix"),
        (torch.ones(2, 3), torch.ones(3, 2).double(), "same dtype"),
    ],
)
def test_what_cannot_be_multiplied_is_said_as_by_torch(any_size, a, b, words):
    with pytest.raises(RuntimeError, match=words):
        products.mm(a, b)


@pytest.mark.parametrize(("wanted", "made"), [("1", 3), ("0", 0)])
def test_layers_and_their_gradients(wanted, made):
    env = os.environ | {"REPLAB_ONEDNN_PRODUCTS": wanted}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(made)]
    assert "Overriding" not in done.stderr


def test_where_mkl_is_slow(monkeypatch, tmp_path):
    path = tmp_path / "cpuinfo"
    monkeypatch.setattr(products, "CPUINFO", path)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    assert not products.mkl_is_slow()
    path.write_text("vendor_id\t: AuthenticAMD\n")
    assert products.mkl_is_slow() == torch.backends.mkl.is_available()
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    assert not products.mkl_is_slow()

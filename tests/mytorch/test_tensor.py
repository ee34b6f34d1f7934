"""What a Tensor is and says: attributes, conversion, printing, copies, errors."""

import copy
import importlib
import math
import pickle

import numpy as np
import pytest
import torch
from oracle import check

import mytorch

BOTH = pytest.mark.parametrize("t", [torch, mytorch], ids=["torch", "mytorch"])


@BOTH
def test_what_it_is(t):
    x = t.ones(2, 3)
    assert (x.dim(), x.ndim, x.numel(), x.nelement(), len(x)) == (2, 2, 6, 6, 2)
    assert (x.size(), x.size(1), x.size(-1), x.shape) == ((2, 3), 3, 3, (2, 3))
    assert repr(x.shape) == "torch.Size([2, 3])"
    assert x.shape.numel() == 6
    assert type(x.shape[:1]).__name__ == "Size"
    assert (x.stride(), x.T.stride(), x.stride(0)) == ((3, 1), (1, 3), 3)
    assert x.is_contiguous()
    assert not x.T.is_contiguous()
    assert x.is_floating_point()
    assert x.is_leaf
    assert not x.is_cuda
    assert not x.requires_grad
    assert (str(x.device), x.device.type, repr(t.device("cuda:1"))) == (
        "cpu",
        "cpu",
        "device(type='cuda', index=1)",
    )
    assert t.device("cpu") == x.device
    assert (x.element_size(), x.itemsize, x.nbytes, x.get_device()) == (4, 4, 24, -1)
    assert x.type() == "torch.FloatTensor"
    assert repr(x.dtype) == "torch.float32"
    assert t.is_tensor(x)
    assert t.is_floating_point(x)
    assert t.numel(x) == 6
    assert x.grad_fn is None
    assert "Mul" in str((x.requires_grad_() * 2).grad_fn)


@BOTH
def test_conversions(t):
    x = t.tensor([1.6, 0.0, -2.0])
    for name in ("float", "double", "half", "long", "int", "short", "bool"):
        assert getattr(x, name)().dtype == getattr(t, name)
    assert x.long().tolist() == [1, 0, -2]
    assert x.to(t.float64).dtype == t.float64
    assert x.to("cpu") is x
    assert x.to(t.device("cpu"), t.int64).dtype == t.int64
    assert x.to(t.zeros(1).double()).dtype == t.float64
    assert x.to(dtype=t.float32) is x
    assert x.to(x.dtype, copy=True) is not x
    assert x.type(t.int64).dtype == x.type("torch.LongTensor").dtype == x.type_as(t.tensor([1])).dtype == t.int64
    assert x.cpu() is x
    assert x.float() is x
    with pytest.raises((AssertionError, RuntimeError), match=r"CUDA|NVIDIA"):
        x.cuda()
    with pytest.raises((AssertionError, RuntimeError), match=r"CUDA|NVIDIA"):
        x.to("cuda")


def test_conversion_keeps_the_gradient():
    check(lambda t, a: (a.double() * 2, a.float() + 1, a.to(t.float32).sum()), (3,))


@BOTH
def test_numbers_out(t):
    x = t.tensor([[1.5]])
    assert (x.item(), float(x), int(x), bool(x), x.tolist()) == (1.5, 1.5, 1, True, [[1.5]])
    assert math.sqrt(t.tensor(4.0)) == 2
    assert [10, 20, 30][t.tensor(1)] == 20
    assert f"{t.tensor(1.23456):.2f}" == "1.23"
    assert sum([t.tensor(1), t.tensor(2)]).item() == 3
    with pytest.raises(RuntimeError, match="a Tensor with 2 elements cannot be converted to Scalar"):
        t.ones(2).item()
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"):
        bool(t.ones(2))
    with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
        float(t.ones(2))
    with pytest.raises(TypeError):
        len(t.tensor(1))
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        list(t.tensor(1))


@BOTH
def test_numpy_shares_memory(t):
    array = np.zeros(3, np.float32)
    x = t.from_numpy(array)
    x.add_(1)
    assert array.tolist() == [1, 1, 1]
    assert np.shares_memory(x.numpy(), array)
    assert np.asarray(x).dtype == np.float32
    assert np.array(x, dtype=np.float64).dtype == np.float64
    assert (np.ones(3, np.float32) * x.numpy()).tolist() == [1, 1, 1]
    assert np.sin(x.numpy()).shape == (3,)
    with pytest.raises(RuntimeError, match="Can't call numpy\\(\\) on Tensor that requires grad"):
        x.requires_grad_().numpy()
    assert x.detach().numpy().tolist() == [1, 1, 1]


@BOTH
def test_tensors_as_keys_and_in_conditions(t):
    a, b = t.ones(2), t.ones(2)
    assert len({a, b, a}) == 2
    assert (a == None) is False  # noqa: E711
    assert (a == b).all()
    assert not (a != b).any()
    assert t.equal(a, b)
    assert t.allclose(a, b + 1e-9)
    assert not t.allclose(a, b + 1)
    assert a.isclose(b).tolist() == [True, True]
    assert any(x is a for x in (b, a))


def test_comparisons():
    check(lambda t, a, b: (a < b, a <= b, a > b, a >= b, a == b, a != b, a > 0, a > 0, a == 1), (3, 4), (4,))
    check(lambda t, a, b: (t.lt(a, b), t.ge(a, 0.5), a.eq(b), a.ne(b), t.gt(a, b), t.le(a, b)), (3, 4), (4,))
    flags = np.array([True, False, True]), np.array([True, True, False])
    check(lambda t, a, b: (a & b, a | b, a ^ b, ~a, a.logical_and(b), t.logical_or(a, b), t.logical_not(a)), *flags)
    check(lambda t, a: (a & 3, a | 8, a ^ 1, ~a, a << 1, a >> 1, t.logical_xor(a, a)), np.arange(5))
    for one in ("isnan", "isinf", "isfinite", "signbit", "isposinf", "isneginf"):
        check(lambda t, a, one=one: getattr(t, one)(a), np.array([1.0, np.nan, np.inf, -np.inf]), grad=False)


@BOTH
def test_copies(t):
    x = t.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    y = copy.deepcopy(x)
    assert y.requires_grad
    assert y.grad.tolist() == [2, 2]
    y.grad.zero_()
    assert x.grad.tolist() == [2, 2]
    weight = t.nn.Parameter(x.detach())
    weight.grad = t.ones(2)
    assert copy.deepcopy(weight).grad is None
    with pytest.raises(RuntimeError, match=r"Only Tensors created explicitly by the user \(graph leaves\)"):
        copy.deepcopy(x * 2)
    assert x.detach().clone().tolist() == [1, 1]
    assert copy.deepcopy({"a": x.detach(), "d": t.float32})["d"] is t.float32


def test_pickling():
    x = mytorch.arange(3).float().requires_grad_()
    y = pickle.loads(pickle.dumps(x))
    assert y.tolist() == [0, 1, 2]
    assert y.requires_grad
    assert pickle.loads(pickle.dumps(mytorch.int64)) is mytorch.int64


@BOTH
def test_data_and_detach(t):
    x = t.ones(2, requires_grad=True)
    x.data.mul_(3)
    assert x.tolist() == [3, 3]
    x.data = t.zeros(2)
    assert x.tolist() == [0, 0]
    assert x.requires_grad
    y = (x * 2).detach_()
    assert y.is_leaf
    assert not y.requires_grad


def test_what_is_missing_is_named():
    x = mytorch.ones(2)
    with pytest.raises(NotImplementedError, match=r"mytorch has no 'Tensor.to_mkldnn'; supported: docs/mytorch.md"):
        x.to_mkldnn()
    with pytest.raises(NotImplementedError, match=r"mytorch has no 'torch.lobpcg'"):
        mytorch.lobpcg(x)
    with pytest.raises(NotImplementedError, match=r"mytorch has no 'torch.linalg.ldl_factor'"):
        mytorch.linalg.ldl_factor(x)
    assert not hasattr(mytorch, "lobpcg")
    assert not hasattr(x, "to_mkldnn")
    assert not hasattr(mytorch.cuda, "nothing")


@BOTH
def test_machine_questions(t):
    assert not t.cuda.is_available()
    assert t.cuda.device_count() == 0
    assert not t.backends.mps.is_available()
    t.cuda.manual_seed_all(0)
    t.backends.cudnn.benchmark = False
    threads = t.get_num_threads()
    assert threads >= 1
    t.set_num_threads(1)
    assert t.get_num_threads() == 1
    t.set_num_threads(threads)
    assert t.finfo(t.float32).eps == np.finfo(np.float32).eps
    assert t.finfo(t.float64).max == np.finfo(np.float64).max
    assert t.iinfo(t.int64).max == 2**63 - 1
    assert t.get_default_dtype() == t.float32
    assert int(t.__version__[0]) == 2
    assert t.inf == math.inf


@BOTH
def test_the_default_dtype(t):
    t.set_default_dtype(t.float64)
    try:
        assert t.ones(1).dtype == t.tensor([1.0]).dtype == t.rand(1).dtype == t.arange(0, 1, 0.5).dtype == t.float64
        assert (t.tensor([1]) / 2).dtype == t.float64
        with pytest.raises(TypeError, match="only floating-point types are supported as the default type"):
            t.set_default_dtype(t.int64)
    finally:
        t.set_default_dtype(t.float32)


def test_what_changes_nothing():
    assert mytorch.compile(len) is len
    assert mytorch.compile(mode="default")(len) is len
    mytorch.set_default_device("cpu")
    mytorch.use_deterministic_algorithms(True)
    mytorch.set_float32_matmul_precision("high")
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        mytorch.set_default_device("cuda")


@BOTH
def test_numpy_functions_of_tensors(t):
    x = t.tensor([0.0, 1.0])
    assert t.is_tensor(np.exp(x))
    assert np.stack([x, x]).shape == (2, 2)


def test_norms_of_linalg():
    check(lambda t, a: (t.linalg.norm(a), t.linalg.vector_norm(a, 3, dim=1), t.linalg.norm(a, dim=1, ord=1)), (3, 4))
    check(lambda t, a: [t.linalg.norm(a, ord) for ord in (1, 2, -1, "nuc", float("inf"))], (3, 4))


@BOTH
def test_views_share_a_storage(t):
    x = t.zeros(3, 4)
    memory = x.untyped_storage()
    assert (memory.nbytes(), len(memory)) == (48, 48)
    assert x[1].t().untyped_storage().data_ptr() == memory.data_ptr() == x.data_ptr()
    assert x.clone().untyped_storage().data_ptr() != memory.data_ptr()


@BOTH
def test_settings_without_effect_in_one_process(t):
    model = t.nn.Sequential(t.nn.Conv2d(2, 3, 1), t.nn.ReLU())
    assert t.nn.SyncBatchNorm.convert_sync_batchnorm(model) is model
    attention = importlib.import_module(f"{t.__name__}.nn.attention")
    with attention.sdpa_kernel(attention.SDPBackend.MATH):
        assert t.nn.functional.scaled_dot_product_attention(*t.ones(3, 1, 2, 4)).shape == (1, 2, 4)

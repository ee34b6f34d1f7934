"""New tensors against torch's: values, dtypes and errors."""

import enum

import numpy as np
import pytest
import torch
from oracle import agree, check, compare

import mytorch

CASES = {
    "tensor": lambda t: (t.tensor([1, 2]), t.tensor([1.0, 2]), t.tensor(True), t.tensor(3), t.tensor([[1.5], [2]])),
    "tensor of tensors": lambda t: (t.tensor([t.tensor(1.0), t.tensor(2.0)]), t.tensor([t.tensor(1), 2])),
    "tensor of arrays": lambda t: (
        t.tensor(np.ones(2)),
        t.tensor(np.float64(2)),
        t.tensor(np.arange(3, dtype=np.int32)),
    ),
    "dtypes": lambda t: (t.tensor([1, 2], dtype=t.float64), t.tensor([1.7], dtype=t.int64), t.tensor([], dtype=t.long)),
    "as_tensor": lambda t: (t.as_tensor([1, 2]), t.as_tensor(np.ones(2)), t.as_tensor(t.ones(2), dtype=t.float64)),
    "zeros": lambda t: (
        t.zeros(2, 3),
        t.zeros((2, 3)),
        t.zeros([2]),
        t.zeros(2, dtype=t.int64),
        t.zeros(()),
        t.zeros(size=(2,)),
    ),
    "ones": lambda t: (t.ones(2, 3), t.ones(t.Size([2])), t.ones(2, dtype=t.bool), t.empty(2, 3).shape),
    "full": lambda t: (t.full((2,), 3), t.full((2,), 1.5), t.full((2, 2), True), t.full((1,), 2, dtype=t.float64)),
    "like": lambda t: (t.zeros_like(t.ones(2)), t.ones_like(t.zeros(2), dtype=t.int64), t.full_like(t.ones(2), 7)),
    "arange": lambda t: (
        t.arange(5),
        t.arange(2, 8, 3),
        t.arange(1.0),
        t.arange(0, 1, 0.3),
        t.arange(5, 0, -2),
        t.arange(0),
    ),
    "arange dtypes": lambda t: (t.arange(3, dtype=t.float32), t.arange(0.0, 3), t.arange(3, dtype=t.int32)),
    "linspace": lambda t: (
        t.linspace(0, 1, 5),
        t.linspace(-1, 1, 3, dtype=t.float64),
        t.logspace(0, 2, 3),
        t.linspace(2, 2, 1),
    ),
    "eye": lambda t: (t.eye(3), t.eye(2, 3), t.eye(2, dtype=t.int64)),
    "new": lambda t: (
        t.ones(1).double().new_zeros(2, 3),
        t.tensor([1]).new_ones((2,)),
        t.ones(1).new_full((2,), 3.0),
        t.ones(1).new_tensor([1, 2]),
    ),
    "legacy": lambda t: (t.Tensor([1, 2]), t.Tensor(2, 3).shape, t.FloatTensor([1, 2]), t.LongTensor([1, 2])),
    "default dtypes": lambda t: (t.tensor(2.5), t.tensor([True, False]), t.tensor([])),
}


@pytest.mark.parametrize("name", CASES)
def test_against_torch(name):
    compare(CASES[name](mytorch), CASES[name](torch), 1e-6, 1e-6, name)


def test_requires_grad():
    for make in (mytorch.zeros, mytorch.ones, mytorch.rand, mytorch.randn):
        assert make(2, requires_grad=True).requires_grad
    assert mytorch.tensor([1.0], requires_grad=True).is_leaf
    with pytest.raises(RuntimeError, match="only Tensors of floating point and complex dtype can require gradients"):
        mytorch.tensor([1], requires_grad=True)


def test_memory_is_shared_only_where_torch_shares_it():
    array = np.zeros(2, np.float32)
    for t in (torch, mytorch):
        t.tensor(array).add_(1)
        assert array[0] == 0
        t.as_tensor(array).add_(1)
        assert array[0] == 1
        t.from_numpy(array).sub_(1)
        assert array[0] == 0
        x = t.ones(2)
        assert t.as_tensor(x) is x


def test_memory_mapped_files_keep_their_dtype(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(4))
    x = mytorch.from_numpy(np.load(tmp_path / "x.npy", mmap_mode="r+"))
    assert x.dtype is mytorch.int64
    assert x.tolist() == [0, 1, 2, 3]


def test_errors():
    with pytest.raises(ValueError, match="expected sequence of equal length"):
        mytorch.tensor([[1, 2], [3]])
    with pytest.raises(TypeError, match=r"expected np.ndarray \(got list\)"):
        mytorch.from_numpy([1])
    with pytest.raises(TypeError, match=r"can't convert np.ndarray of type numpy.complex256"):
        mytorch.from_numpy(np.ones(2, np.clongdouble))
    with pytest.raises(TypeError, match="tensors hold numbers and booleans"):
        mytorch.tensor(["a"])
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        mytorch.zeros(2, device="cuda")
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        mytorch.device("tpu0")
    with pytest.raises(RuntimeError, match="upper bound and lower bound inconsistent with step sign"):
        mytorch.arange(3, 0)


def test_mixed_with_numpy():
    check(lambda t, a: (a * t.from_numpy(np.arange(3.0)).to(a.dtype), a + t.ones(3, dtype=a.dtype)), (2, 3))
    assert isinstance(np.ones(3) * mytorch.ones(3), mytorch.Tensor)


def test_the_type_of_a_list_is_that_of_what_it_holds():
    def values(t):
        one, two = t.tensor(1.0), t.tensor(2.0, dtype=t.float64)
        doubles, singles = np.array([1.0, 2.0]), np.array([1.0, 2.0], np.float32)
        return (
            *([one, 2], [1.0, two], [1, two], [t.tensor(1).int(), 2], [t.tensor(1).int()], [[1, 2], two.expand(2)]),
            *([np.float32(1), 2], [np.int64(1), 2.5], [1, np.float64(1)], [np.float16(1), 2.5], [[np.float32(1)], [2]]),
            *([doubles, singles], [singles, [1, 2]], [[1.0, 2.0], doubles], [np.float16(1), 1j], [1j, np.float64(2)]),
            *([t.ones(1), t.ones(1)], [[1.0], [t.ones(1)]], [[1.0], t.ones(1)], [True, np.int8(3)], [], [[], []]),
            *([enum.IntEnum("Two", "A B").B, 2.5], [True, 2], [2**40]),
        )  # fmt: skip

    for place in range(len(values(torch))):
        agree(lambda t, place=place: t.tensor(values(t)[place]))
    agree(lambda t: t.tensor([t.ones(2), t.ones(2)]))  # refused

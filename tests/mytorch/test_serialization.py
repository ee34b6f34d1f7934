"""Files: what goes in comes out, also from torch.save; anything that could run code is refused."""

import io
import os
import pickle
from collections import OrderedDict

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mytorch
from mytorch.pickles import RefusedPickle
from mytorch.serialization import load_numpy_lab, to_torch

TYPES = ["float32", "float64", "int64", "bool", "uint8"]
numbers = st.one_of(
    *(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False)),
    *(st.complex_numbers(allow_nan=False), st.text(max_size=5)),
)
tensors = st.tuples(st.sampled_from(TYPES), st.lists(st.integers(0, 3), max_size=3)).map(
    lambda drawn: mytorch.from_numpy(np.arange(int(np.prod(drawn[1]))).reshape(drawn[1]).astype(drawn[0]))
)
nested = st.recursive(
    numbers | tensors,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(0, 9), inner, max_size=3)
    ),
    max_leaves=8,
)


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, mytorch.Tensor):
        assert (a.dtype, a.shape, a.tolist()) == (b.dtype, b.shape, b.tolist())
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    else:
        assert a == b


@given(value=nested)
@settings(max_examples=30, deadline=None)
def test_what_goes_in_comes_out(value):
    file = io.BytesIO()
    mytorch.save(value, file)
    file.seek(0)
    same(value, mytorch.load(file))


def test_models_and_optimisers_go_on_where_they_were(tmp_path):
    def made():
        mytorch.manual_seed(1)
        model = mytorch.nn.Sequential(mytorch.nn.Linear(3, 4), mytorch.nn.BatchNorm1d(4), mytorch.nn.Linear(4, 2))
        return model, mytorch.optim.Adam(model.parameters(), amsgrad=True)

    def step(model, optimizer, seed):
        x = mytorch.from_numpy(np.random.default_rng(seed).normal(size=(5, 3)).astype(np.float32))
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()

    model, optimizer = made()
    step(model, optimizer, 0)
    path = tmp_path / "checkpoint.pt"
    mytorch.save({"epoch": 1, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
    step(model, optimizer, 1)
    other, other_optimizer = made()
    state = mytorch.load(path, map_location="cpu", weights_only=True)
    other.load_state_dict(state["model"])
    other_optimizer.load_state_dict(state["optimizer"])
    step(other, other_optimizer, 1)
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), other.state_dict()[name].numpy())
    assert os.listdir(tmp_path) == ["checkpoint.pt"]


def test_parameters_shared_weights_and_types(tmp_path):
    weight = mytorch.nn.Parameter(mytorch.ones(2))
    value = {
        "w": weight,
        "same": weight.detach(),
        "kind": mytorch.float64,
        "n": np.float32(2.5),
        "a": np.arange(3),
    }
    mytorch.save(value, str(tmp_path / "f"))
    back = mytorch.load(str(tmp_path / "f"))
    assert isinstance(back["w"], mytorch.nn.Parameter)
    assert back["w"].requires_grad
    back["same"][0] = 5.0
    assert back["w"][0].item() == 5.0  # one memory, as it was
    assert back["kind"] is mytorch.float64
    assert back["n"] == 2.5
    np.testing.assert_array_equal(back["a"], np.arange(3))


def test_an_interrupted_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "f"
    mytorch.save([1], path)

    def fail(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(mytorch.serialization, "write_zip", fail)
    with pytest.raises(OSError, match="disk full"):
        mytorch.save([2], path)
    monkeypatch.undo()
    assert mytorch.load(path) == [1]
    assert os.listdir(tmp_path) == ["f"]


class Net(mytorch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = mytorch.nn.Linear(2, width)
        self.register_buffer("scale", mytorch.ones(1))
        self.note = "kept"

    def forward(self, x):
        return self.fc(x) * self.scale


def test_whole_modules_are_saved_and_loaded_only_when_trusted(tmp_path):
    net, path = Net(3), tmp_path / "whole.pt"
    mytorch.save(net, path)
    with pytest.raises(RefusedPickle, match=r"names '.*Net'.*weights_only=False"):
        mytorch.load(path)
    back = mytorch.load(path, weights_only=False)
    assert (type(back), back.note, repr(back)) == (Net, "kept", repr(net))
    x = mytorch.ones(4, 2)
    np.testing.assert_array_equal(back(x).detach().numpy(), net(x).detach().numpy())
    back(x).sum().backward()
    torch.save(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()), path)
    assert mytorch.load(path, weights_only=False)[0].weight.shape == (2, 2)


def test_what_cannot_be_saved_leaves_no_file(tmp_path):
    with pytest.raises((AttributeError, pickle.PicklingError)):
        mytorch.save({"a": lambda: 1}, tmp_path / "f")
    assert os.listdir(tmp_path) == []


def test_foreign_and_damaged_files_are_told(tmp_path):
    path = tmp_path / "f"
    mytorch.save({"x": mytorch.arange(1000)}, path)
    whole = path.read_bytes()
    middle = len(whole) // 2
    for content, message in (
        (whole[:middle], "cut off or damaged"),
        (whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :], "damaged"),
        (b"", "must be a file of torch.save"),
        (b"hello world", "starts with b'hell'"),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            mytorch.load(path)
    with pytest.raises(FileNotFoundError):
        mytorch.load(tmp_path / "missing")


def test_reads_what_torch_saved(tmp_path):
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(2, 1, 4, 4)).sum().backward()
    optimizer.step()
    extra = {"view": torch.arange(12).reshape(3, 4).T[1:], "half": torch.ones(2, dtype=torch.float16), "number": 1 - 2j}
    torch.save({"m": model.state_dict(), "o": optimizer.state_dict(), "x": extra}, tmp_path / "f")
    back = mytorch.load(tmp_path / "f")
    assert isinstance(back["m"], OrderedDict)
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(back["m"][name].numpy(), value.numpy())
    np.testing.assert_array_equal(back["x"]["view"].numpy(), extra["view"].numpy())
    assert back["x"]["half"].dtype == mytorch.float16
    assert back["x"]["number"] == 1 - 2j
    ours = mytorch.nn.Sequential(mytorch.nn.Conv2d(1, 2, 3), mytorch.nn.BatchNorm2d(2))
    ours.load_state_dict(back["m"])
    mytorch.optim.Adam(ours.parameters()).load_state_dict(back["o"])
    torch.save(model, tmp_path / "whole")
    with pytest.raises(RefusedPickle, match=r"names 'torch.nn.modules.container.Sequential'.*weights_only"):
        mytorch.load(tmp_path / "whole")


def test_reads_sparse_tensors_that_fit_into_memory(tmp_path):
    value = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
    torch.save([value.to_sparse(), torch.strided], tmp_path / "f")
    assert mytorch.load(tmp_path / "f")[0].to_dense().tolist() == value.tolist()
    torch.save(torch.sparse_coo_tensor([[0], [0]], [1.0], (10**6, 10**6)), tmp_path / "f")
    with pytest.raises(RefusedPickle, match="may have 33554432 places"):
        mytorch.load(tmp_path / "f")
    torch.save(value.to_sparse_csr(), tmp_path / "f")
    with pytest.raises(RefusedPickle, match="layouts strided and sparse_coo"):
        mytorch.load(tmp_path / "f")


def test_to_torch_gives_copies():
    source = {"a": [mytorch.arange(3)], "n": 1, "t": (np.ones(2),)}
    made = to_torch(source)
    made["a"][0][0] = 9
    assert source["a"][0].tolist() == [0, 1, 2]
    assert made["n"] == 1
    assert isinstance(made["t"][0], torch.Tensor)


@pytest.mark.parametrize("protocol", range(6))
def test_numpy_lab_files(tmp_path, protocol):
    rng = np.random.default_rng(0)
    stored = {
        "conv1": {"weight": rng.normal(size=(2, 1, 3, 3)), "bias": rng.normal(size=2)},
        "bn1": {
            "gamma": rng.normal(size=(1, 2, 1, 1)),
            "beta": rng.normal(size=(1, 2, 1, 1)),
            "running_mean": rng.normal(size=(1, 2, 1, 1)),
            "running_var": rng.uniform(1, 2, size=(1, 2, 1, 1)),
        },
        "fc": {"weight": rng.normal(size=(8, 3)), "bias": rng.normal(size=(1, 3))},
    }
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(stored, protocol=protocol))
    state = load_numpy_lab(path)
    np.testing.assert_array_equal(state["fc.weight"].numpy(), stored["fc"]["weight"].T)
    np.testing.assert_array_equal(state["fc.bias"].numpy(), stored["fc"]["bias"][0])
    np.testing.assert_array_equal(state["conv1.weight"].numpy(), stored["conv1"]["weight"])
    np.testing.assert_array_equal(state["bn1.weight"].numpy(), stored["bn1"]["gamma"].ravel())

    class Net(mytorch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = mytorch.nn.Conv2d(1, 2, 3)
            self.bn1 = mytorch.nn.BatchNorm2d(2)
            self.fc = mytorch.nn.Linear(8, 3)

    result = Net().load_state_dict(state)  # a state dict without versions may lack num_batches_tracked, as in torch
    assert not result.missing_keys
    assert not result.unexpected_keys


class Runs:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (self.marker,)


def test_a_pickle_that_would_run_code_is_refused_and_does_not_run(tmp_path):
    marker, path = tmp_path / "ran", tmp_path / "model.pkl"
    for protocol in range(6):
        path.write_bytes(pickle.dumps({"fc": {"weight": Runs(str(marker))}}, protocol=protocol))
        with pytest.raises(RefusedPickle, match=r"names '(posix|nt|os)\.mkdir': it is refused"):
            load_numpy_lab(path)
    file = io.BytesIO()
    torch.save({"a": Runs(str(marker))}, file)
    file.seek(0)
    with pytest.raises(RefusedPickle, match="mkdir"):
        mytorch.load(file)
    assert not marker.exists()
    # The door is closed to builtins and to attributes reached through admitted modules as well.
    for payload in (
        b"cbuiltins\neval\n(V1\ntR.",
        b"cnumpy\nload\n(V1\ntR.",
        b"\x80\x04\x8c\x05numpy\x8c\x0cndarray.dump\x93.",
    ):
        path.write_bytes(payload)
        with pytest.raises(RefusedPickle, match=r"names '(builtins.eval|numpy.load|numpy.ndarray.dump)'"):
            load_numpy_lab(path)


def test_other_pickles_are_told_what_is_wrong(tmp_path):
    path = tmp_path / "model.pkl"
    for value, message in (
        ([1], "the top level is list"),
        ({"a": {"b": 1}}, "a.b is int"),
        ("text", "the top level is str"),
    ):
        path.write_bytes(pickle.dumps(value))
        with pytest.raises(ValueError, match=message):
            load_numpy_lab(path)
    path.write_bytes(pickle.dumps({"a": {"b": np.ones(200)}})[:-90])
    with pytest.raises(ValueError, match="damaged or of another kind"):
        load_numpy_lab(path)
    for array, kind in ((np.array([1], dtype=object), "O8"), (np.array(["x"]), "U1"), (np.zeros(1, "i4,f8"), "V12")):
        path.write_bytes(pickle.dumps({"a": {"b": array}}))
        with pytest.raises(RefusedPickle, match=f"holds numbers, but this one holds the type '{kind}'"):
            load_numpy_lab(path)


def test_a_pickle_cannot_change_what_it_is_given(tmp_path):
    """BUILD sets attributes of the object before it; here of the constructor of types."""
    path = tmp_path / "model.pkl"
    path.write_bytes(b"\x80\x02cnumpy\ndtype\nN}U\x0c__setstate__K\x01s\x86b.")
    with pytest.raises(ValueError, match=r"damaged or of another kind|must hold layer"):
        load_numpy_lab(path)
    path.write_bytes(pickle.dumps({"fc": {"bias": np.arange(3.0)}}))
    assert load_numpy_lab(path)["fc.bias"].tolist() == [0.0, 1.0, 2.0]


def test_a_tensor_outside_its_storage_is_refused(tmp_path):
    """Steps that would read memory beyond the file's own bytes."""
    from mytorch.torchfile import _rebuild_tensor

    storage = np.arange(6.0)
    assert _rebuild_tensor(storage, 1, (2, 2), (2, 1)).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert _rebuild_tensor(storage, 6, (0,), (1,)).tolist() == []
    for offset, size, stride in ((0, (7,), (1,)), (5, (2,), (1,)), (0, (2, 2), (-5, 6)), (-1, (1,), (1,))):
        with pytest.raises(RefusedPickle):
            _rebuild_tensor(storage, offset, size, stride)

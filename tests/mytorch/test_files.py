"""Files both ways with torch, other formats of named arrays, and files made to do harm."""

import io
import pickle
import struct
import tracemalloc
import zipfile
from collections import OrderedDict

import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mytorch
from mytorch import torchfile
from mytorch.pickles import RefusedPickle

TYPES = ["float16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool"]
arrays = st.tuples(st.sampled_from(TYPES), st.lists(st.integers(0, 3), max_size=3)).map(
    lambda drawn: np.arange(int(np.prod(drawn[1]))).reshape(drawn[1]).astype(drawn[0])
)
plain = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=5)
nested = st.recursive(
    plain | arrays,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(0, 9), inner, max_size=3)
    ),
    max_leaves=8,
)


def made(lib, value):
    """The same nesting with arrays as one library's tensors."""
    if isinstance(value, np.ndarray):
        return lib.from_numpy(value.copy())
    if isinstance(value, dict):
        return {key: made(lib, item) for key, item in value.items()}
    return type(value)(made(lib, item) for item in value) if isinstance(value, list | tuple) else value


def bare(value):
    """Tensors of either library as (dtype, list)."""
    if hasattr(value, "detach"):
        return str(value.dtype), tuple(value.shape), value.tolist()
    if isinstance(value, dict):
        return {key: bare(item) for key, item in value.items()}
    return type(value)(bare(item) for item in value) if isinstance(value, list | tuple) else value


@given(value=nested)
@settings(max_examples=25, deadline=None)
def test_both_ways_with_torch(value):
    ours, theirs, legacy = io.BytesIO(), io.BytesIO(), io.BytesIO()
    mytorch.save(made(mytorch, value), ours)
    torch.save(made(torch, value), theirs)
    torch.save(made(torch, value), legacy, _use_new_zipfile_serialization=False)
    for file in (ours, theirs, legacy):
        file.seek(0)
    expected = bare(made(torch, value))
    assert bare(torch.load(ours, weights_only=True)) == expected
    assert bare(mytorch.load(theirs)) == expected
    assert bare(mytorch.load(legacy)) == expected


def test_parameters_views_and_kinds_reach_torch(tmp_path):
    weight = mytorch.nn.Parameter(mytorch.arange(6.0).reshape(2, 3))
    value = OrderedDict(
        w=weight,
        tied=weight.detach(),
        turned=mytorch.arange(6).reshape(2, 3).T,
        part=mytorch.arange(10.0)[2:8:2],
        wide=mytorch.ones(1).expand(3, 4),
        flipped=mytorch.arange(4).flip(0),
        image=mytorch.nn.Conv2d(1, 2, 3)(mytorch.ones(2, 1, 4, 4)).detach(),
        shape=mytorch.ones(2, 3).shape,
        kind=mytorch.float64,
        half=mytorch.bfloat16,
        place=mytorch.device("cpu"),
    )
    mytorch.save(value, tmp_path / "f.pt")
    back = torch.load(tmp_path / "f.pt", weights_only=True)
    for name in ("w", "tied", "turned", "part", "wide", "flipped", "image"):
        assert back[name].tolist() == value[name].tolist()
    assert isinstance(back["w"], torch.nn.Parameter)
    assert back["w"].data_ptr() == back["tied"].data_ptr()
    assert (back["shape"], back["kind"], back["half"]) == (torch.Size([2, 3]), torch.float64, torch.bfloat16)
    assert back["place"] == torch.device("cpu")
    again = mytorch.load(tmp_path / "f.pt")
    assert (again["shape"], again["kind"]) == (value["shape"], mytorch.float64)
    with zipfile.ZipFile(tmp_path / "f.pt") as archive:
        for entry in archive.infolist():
            with open(tmp_path / "f.pt", "rb") as file:
                file.seek(entry.header_offset + 26)
                name, extra = struct.unpack("<HH", file.read(4))
            assert (entry.header_offset + 30 + name + extra) % 64 == 0  # torch maps it into memory
    assert torch.load(tmp_path / "f.pt", mmap=True, weights_only=True)["w"].tolist() == weight.tolist()


def test_bfloat16_is_read_as_float32(tmp_path):
    x = torch.tensor([1.5, -2.25, 3e38, float("inf")], dtype=torch.bfloat16)
    torch.save(x, tmp_path / "f")
    safetensors.torch.save_file({"x": x}, tmp_path / "g")
    for back in (mytorch.load(tmp_path / "f"), mytorch.load(tmp_path / "g")["x"]):
        assert back.dtype == mytorch.float32
        assert back.tolist() == x.tolist()


def test_a_models_state_goes_there_and_back(tmp_path):
    ours = mytorch.nn.Sequential(mytorch.nn.Linear(3, 2), mytorch.nn.BatchNorm1d(2))
    theirs = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    optimizer = mytorch.optim.Adam(ours.parameters())
    ours(mytorch.randn(4, 3)).square().sum().backward()
    optimizer.step()
    mytorch.save({"model": ours.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, tmp_path / "f")
    state = torch.load(tmp_path / "f", weights_only=True)
    theirs.load_state_dict(state["model"])
    torch.optim.Adam(theirs.parameters()).load_state_dict(state["optimizer"])
    torch.save(theirs.state_dict(), tmp_path / "g", _use_new_zipfile_serialization=False)
    ours.load_state_dict(mytorch.load(tmp_path / "g"))


@pytest.mark.parametrize("kind", TYPES)
def test_other_formats_of_arrays(tmp_path, kind):
    x = np.arange(6).reshape(2, 3).astype(kind)
    stored = {"a": x, "b": np.asfortranarray(x), "c": x[0, 0]}
    np.savez(tmp_path / "x.npz", **stored)
    np.savez_compressed(tmp_path / "y.npz", **stored)
    np.save(tmp_path / "z.npy", x)
    safetensors.numpy.save_file({"a": x, "b": x.T.copy().T.copy()}, tmp_path / "w.safetensors")
    for name in ("x.npz", "y.npz", "w.safetensors"):
        back = mytorch.load(tmp_path / name)
        assert isinstance(back["a"], mytorch.Tensor)
        for key in back:
            np.testing.assert_array_equal(back[key].numpy(), stored[key])
            assert back[key].numpy().dtype == x.dtype
    np.testing.assert_array_equal(mytorch.load(tmp_path / "z.npy").numpy(), x)
    for protocol in range(6):
        path = tmp_path / "model.pkl"
        path.write_bytes(pickle.dumps({"fc1": {"weight": x}, "epoch": 3}, protocol=protocol))
        back = mytorch.load(path)
        assert back["epoch"] == 3
        np.testing.assert_array_equal(back["fc1"]["weight"], x)


def test_arrays_are_shared_with_numpy_and_by_dlpack():
    x = np.arange(4.0)
    ours = mytorch.from_dlpack(x)
    ours[0] = 9
    assert x[0] == 9
    theirs = torch.from_dlpack(ours)
    theirs[1] = 8
    assert ours[1].item() == 8
    back = mytorch.utils.dlpack.from_dlpack(torch.ones(2, 2).double())
    assert back.tolist() == [[1, 1], [1, 1]]
    assert np.from_dlpack(ours).tolist() == ours.tolist()
    for lib in (torch, mytorch):  # a capsule, as older libraries hand over
        assert mytorch.from_dlpack(lib.utils.dlpack.to_dlpack(lib.ones(2))).tolist() == [1, 1]
    assert np.asarray(ours) is ours.numpy()
    assert torch.as_tensor(np.asarray(mytorch.ones(2))).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="requires grad"):
        np.asarray(mytorch.ones(2, requires_grad=True))


# files made to do harm


def zipped(data_pkl: bytes, storage: bytes = b"") -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in (("data.pkl", data_pkl), ("byteorder", b"little"), ("data/0", storage), ("version", b"3")):
            archive.writestr(f"archive/{name}", data)
    file.seek(0)
    return file


class Window:
    """Pickles as a tensor of torch with any sizes and steps."""

    def __init__(self, *window):
        self.window = window


class Reference:
    def __init__(self, kind, count):
        self.reference = ("storage", getattr(torch, kind), "0", "cpu", count)


class Pickler(pickle.Pickler):
    def persistent_id(self, obj):
        return obj.reference if isinstance(obj, Reference) else None

    def reducer_override(self, obj):
        if isinstance(obj, Window):
            return torch._utils._rebuild_tensor_v2, (*obj.window, False, OrderedDict())
        return NotImplemented


def window(*args, count=12, kind="FloatStorage"):
    file = io.BytesIO()
    Pickler(file, 2).dump(Window(Reference(kind, count), *args))
    return zipped(file.getvalue(), np.arange(12, dtype=np.float32).tobytes())


def test_a_storage_repeated_by_steps_of_zero_allocates_nothing():
    big = mytorch.load(window(0, (10**9, 1000), (0, 0)))
    assert big.shape == (10**9, 1000)
    assert big.numpy().base is not None
    assert big[10**8, 7].item() == 0.0


@pytest.mark.parametrize(
    "file",
    [
        lambda: window(0, (13,), (1,)),
        lambda: window(0, (2, 2), (1,)),
        lambda: window(0, (2**62, 4), (2**62, 1)),
        lambda: window(0, (-1,), (1,)),
        lambda: window(0, (12,), (1,), count=10**12),
        lambda: window(0, (12,), (1,), count=-5),
        lambda: window(0, (12,), (1,), kind="DoubleStorage"),
        lambda: window(0, ("a",), (1,)),
    ],
)
def test_windows_beyond_the_file_are_refused(file):
    with pytest.raises(ValueError, match="the file"):
        mytorch.load(file())


def loaded(data):
    """What a file holds, or the ValueError of one line that it gives; any other error fails the test."""
    try:
        return mytorch.load(io.BytesIO(data))
    except ValueError as error:
        text = str(error)
        return error if "\n" not in text else pytest.fail(text)


def npy(shape, kind="<f8", content=b"\0" * 16):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": shape})
    return file.getvalue() + content


def safe(header, content=b"\0" * 16):
    return struct.pack("<Q", len(header)) + header + content


@pytest.mark.parametrize(
    "content",
    [
        npy((10**11,)),
        npy((2**40, 2**40)),
        npy((2,), "|O"),
        safe(b'{"x": {"dtype": "F32", "shape": [100000000000], "data_offsets": [0, 400000000000]}}'),
        safe(b'{"x": {"dtype": "F32", "shape": [4], "data_offsets": [8, 24]}}'),
        safe(b'{"x": {"dtype": "F32", "shape": [-4], "data_offsets": [0, 16]}}'),
        safe(b'{"x": {"dtype": "F8_E4M3", "shape": [16], "data_offsets": [0, 16]}}'),
        safe(b'{"x": 3}'),
        safe(b"{nonsense"),
        b"\x80\x05\x96" + struct.pack("<Q", 2**40) + b".",  # a bytearray of a terabyte
        b"\x80\x05\x8e" + struct.pack("<Q", 2**62) + b".",  # bytes without an end
        b"\x80\x02K\x01r\xff\xff\xff\xff.",  # remembered as number four thousand million
        b"\x80\x02}" + b"(" * 100_000 + b".",
        torchfile.LEGACY_START + b"\x80\x02M\xe9\x03." + b"\x80\x02}.",
    ],
)
def test_damaged_and_lying_files_are_one_error(content):
    zip_file = io.BytesIO()
    with zipfile.ZipFile(zip_file, "w") as archive:
        archive.writestr("x.npy", content)
    for data in [content, *([zip_file.getvalue()] if content.startswith(b"\x93") else [])]:
        value = loaded(data)
        assert isinstance(value, ValueError) or value == 1  # a number remembered as any number is still a number


def test_a_storage_of_an_old_file_cannot_be_larger_than_the_file():
    file = io.BytesIO()
    torch.save(torch.arange(5), file, _use_new_zipfile_serialization=False)
    data = file.getvalue()
    assert mytorch.load(io.BytesIO(data)).tolist() == [0, 1, 2, 3, 4]
    for cut in range(0, len(data), 7):
        with pytest.raises(ValueError, match="the file"):
            mytorch.load(io.BytesIO(data[:cut]))
    assert data.count(b"K\x05N") == 1  # the number of its values, and no view
    with pytest.raises(RefusedPickle, match="its storages claim"):
        mytorch.load(io.BytesIO(data.replace(b"K\x05N", b"J\xff\xff\xff\x7fN")))


def bomb(depth):
    """((x, x), (x, x)) … as a key: its hash takes 2**depth steps."""
    body = b"\x80\x02}(K\x01"
    for place in range(depth):
        body += b"q" + bytes([place]) + b"h" + bytes([place]) + b"\x86"
    return body + b"K\x00u."


def test_tuples_that_take_forever_to_hash_are_refused():
    assert list(mytorch.load(io.BytesIO(bomb(3))).values()) == [0]
    with pytest.raises(RefusedPickle, match="a value of a pickle may weigh"):
        mytorch.load(io.BytesIO(bomb(60)))
    with pytest.raises(RefusedPickle, match="a value of a pickle may weigh"):
        mytorch.load(zipped(bomb(60)))


def _examples():
    value = {"w": torch.arange(6.0).reshape(2, 3), "n": [1, "a", (2.5, None)]}
    new, old, npz = io.BytesIO(), io.BytesIO(), io.BytesIO()
    torch.save(value, new)
    torch.save(value, old, _use_new_zipfile_serialization=False)
    np.savez(npz, a=np.arange(4))
    pickled = pickle.dumps({"a": {"b": np.arange(3)}})
    tensors = safetensors.numpy.save({"a": np.arange(3)})
    return [new.getvalue(), old.getvalue(), npz.getvalue(), pickled, tensors]


EXAMPLES = _examples()


@given(
    which=st.sampled_from(EXAMPLES), place=st.floats(0, 1), change=st.binary(min_size=1, max_size=8), cut=st.booleans()
)
@settings(max_examples=150, deadline=None)
def test_any_damage_is_one_value_error_or_another_value(which, place, change, cut):
    at = int(place * len(which))
    damaged = which[:at] if cut else which[:at] + change + which[at + len(change) :]
    loaded(damaged)


@given(data=st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_noise_is_one_value_error_or_a_plain_value(data):
    for start in (b"", b"\x80\x02", b"PK\x03\x04", b"\x93NUMPY\x01\x00", torchfile.LEGACY_START):
        loaded(start + data)


def test_an_npz_is_checked_before_it_is_unpacked(tmp_path):
    """268 MB of zeros in a file of 260 kB, under a header that claims other sizes."""
    plain = io.BytesIO()
    np.save(plain, np.zeros(1, np.int8))
    with zipfile.ZipFile(tmp_path / "f.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", plain.getvalue() + bytes(1 << 28))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="must hold 1 bytes for the shape"):
            mytorch.load(tmp_path / "f.npz")
        assert tracemalloc.get_traced_memory()[1] < 30e6
    finally:
        tracemalloc.stop()


def test_a_refused_reference_is_one_line():
    data = pickle.dumps([np.ones((2, 2))], 2)[:-1] + b"Q."
    with pytest.raises(ValueError, match="refers to a list") as refused:
        mytorch.load(io.BytesIO(data))
    assert "\n" not in str(refused.value)

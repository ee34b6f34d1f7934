"""Data as objects: the same images give the same numbers, whatever they come in; what does not fit is refused."""

import numpy as np
import pytest
import torch
from PIL import Image

import replab
from replab.data.load import load
from replab.data.objects import dataset_of
from replab.errors import DataError
from replab.report import write as report

SETTINGS = {"params": {"widths": [8]}, "lr": 1e-2, "epochs": 2, "quiet": True}


@pytest.fixture(scope="module")
def arrays():
    data = load("digits", limit=60)
    return data.train.pixels, data.train.labels, data.test.pixels, data.test.labels


class Pairs(torch.utils.data.Dataset):
    classes = tuple("0123456789")

    def __init__(self, x, y, picture=False):
        self.x, self.y, self.picture = x, y, picture

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        if self.picture:
            return Image.fromarray(self.x[i, 0]), self.y[i]
        return torch.from_numpy(self.x[i]).float() / 255, int(self.y[i])


class Columns:
    """As a Hugging Face dataset: items are dicts, labels have names."""

    column_names = ["image", "label"]  # noqa: RUF012

    class ClassLabel:
        names = list("0123456789")  # noqa: RUF012

    features = {"image": object(), "label": ClassLabel()}  # noqa: RUF012

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"image": Image.fromarray(self.x[i, 0]), "label": int(self.y[i])}


def forms(arrays):
    x, y, x_test, y_test = arrays
    yield "uint8 NCHW", (x, y, x_test, y_test)
    yield "uint8 gray", (x[:, 0], y, x_test[:, 0], y_test)
    yield "NHWC", (x.transpose(0, 2, 3, 1), y, x_test.transpose(0, 2, 3, 1), y_test)
    yield "float", (x / 255, y.astype(np.int32), x_test / 255, y_test)
    yield "torch", tuple(map(torch.from_numpy, arrays))
    yield "torch datasets", (Pairs(x, y), Pairs(x_test, y_test))
    yield "pictures", (Pairs(x, y, picture=True), Pairs(x_test, y_test, picture=True))
    yield "columns", {"train": Columns(x, y), "test": Columns(x_test, y_test)}
    yield "a Dataset", dataset_of((x, y, x_test, y_test))


def test_every_form_gives_the_same_images(arrays):
    expected = dataset_of(arrays)
    for name, form in forms(arrays):
        data = dataset_of(form)
        for half in ("train", "test"):
            one, two = getattr(data, half), getattr(expected, half)
            assert np.array_equal(one.pixels, two.pixels), name
            assert np.array_equal(one.labels, two.labels), name
            assert one.classes == two.classes, name
        assert data.fingerprint == expected.fingerprint, name


def test_without_test_images_a_fifth_is_drawn_by_the_seed(arrays):
    one, again, other = (dataset_of(arrays[:2], seed=seed) for seed in (1, 1, 2))
    assert len(one.test) == 12
    assert np.array_equal(one.test.pixels, again.test.pixels)
    assert not np.array_equal(one.test.pixels, other.test.pixels)
    assert len(one.train) + len(one.test) == 60


def test_a_run_of_objects_is_used_without_them_and_resumed_with_them(arrays, tmp_path, monkeypatch):
    monkeypatch.setattr(report, "draw", lambda *_: [])
    run = replab.run("mlp", data=arrays, runs=tmp_path, **SETTINGS)
    assert run.recipe.data.startswith("python:")
    loaded = replab.load_run(run.id, tmp_path)
    assert loaded.predict(arrays[2][0]) == run.predict(arrays[2][0])
    run.record.path("metrics.json").unlink()
    with pytest.raises(DataError, match=r"was an object in a Python session; replab.resume\(run, data=...\) takes it"):
        replab.resume(run.folder, quiet=True)
    other = (255 - arrays[0], *arrays[1:])
    with pytest.raises(replab.ReplabError, match="are not those run"):
        replab.resume(run.folder, data=other, quiet=True)
    assert replab.resume(run.folder, data=arrays, quiet=True).metrics == run.metrics


class Gives(torch.utils.data.Dataset):
    """A torch Dataset whose items are all this one."""

    def __init__(self, item, count=6):
        self.item, self.count = item, count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.item


X, Y = np.zeros((6, 8, 8), np.uint8), np.arange(6) % 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((X,), r"arrays must be \(x, y\) or"),
        ((X[0, 0], Y), "images must be .*; got shape"),
        ((X[:0], Y[:0]), "at least one; got shape"),
        ((X[:, None, :, :].repeat(5, 1), Y), "1 or 3 channels"),
        ((X.astype(np.int32), Y), "uint8 or float, got int32"),
        ((np.full((6, 8, 8), np.nan), Y), "got NaN or infinity"),
        ((X + 3.0, Y), r"must lie in \[0, 1\], got 3 to 3"),
        ((X, Y[:5]), "6 images but 5 labels"),
        ((X, Y + 1), r"0 to k-1 without gaps, got 1, 2; np.unique"),
        ((X, np.array(list("ababab"))), "np.unique"),
        ((X, Y / 2), "regression is not supported"),
        ((X, np.eye(6)), "several labels per image are not supported"),
        ((X, Y * 0), "at least two classes, got one"),
        (Pairs(X[:, None], [[0, 1], [1]] * 3, picture=True), "several are not supported"),
        (Pairs(X[:, None], np.linspace(0, 1, 6), picture=True), "regression is not supported"),
        (7, "data must be a name, a path"),
        ([[1, 2, 3]], r"must give \(image, label\)|data must be"),
        (Gives({"image": X[0], "label": 0}), r"must give \(image, label\), got dict at 0; a class around it"),
        (Gives((X[0], 0, "a path")), r"must give \(image, label\), got a tuple of ndarray, int, str at 0"),
        (Gives(("cat.png", 0)), "an image must be|images must be"),
        (Gives((X[0], 0), count=0), "at least one item, got none; check its path"),
    ],
)
def test_what_does_not_fit_is_refused(data, message):
    with pytest.raises(DataError, match=message) as error:
        dataset_of(data)
    assert "\n" not in str(error.value)


def test_a_header_that_asks_for_more_than_the_file_has_is_not_believed(tmp_path):
    path = tmp_path / "bomb.npz"
    np.savez(path, x=X, y=Y)
    data = path.read_bytes().replace(b"(6, 8, 8)", b"(6, 8, 8)"[:1] + b"9" * 7 + b",")
    path.write_bytes(data)
    with pytest.raises(DataError):
        load(str(path))


def test_a_table_says_what_is_wrong(tmp_path):
    table = tmp_path / "t.csv"
    for text, message in (
        ("file,label\na,1\n", "must have the columns path and label"),
        ("path,label\na.png,1\nb.png,2\n", "2 of 2 files do not exist: a.png, b.png; paths are relative to"),
        ("path,label\na.png,1\n", "at least two classes"),
        ("path,label,split\na.png,1,train\nb.png,2,val\n", "split must be train or test"),
        ("path,label\na.png,\n", "every row needs a path and a label"),
        ("path,label\na.png,1\na.png,2\n", "several labels per image are not supported, got '1' and '2' for a.png"),
        ("path,label\na.png,cat\nb.png,dog\nc.png,cat;dog\n", "several labels .* got 'cat;dog'; keep one"),
        ("path,label\na.png,0.25\nb.png,0.5\nc.png,1\n", "regression is not supported, got labels as 0.25"),
    ):
        table.write_text(text)
        with pytest.raises(DataError, match=message):
            load(str(table))

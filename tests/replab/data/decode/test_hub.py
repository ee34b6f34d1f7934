"""hf:NAME, on sets saved to disk: parts, names, and what is refused in one line."""

import datasets
import numpy as np
import pytest
from PIL import Image

from replab.data import source
from replab.data.load import load
from replab.errors import DataError

PICTURES = [Image.fromarray(np.full((6, 6, 3), 9 * i, np.uint8)) for i in range(20)]


def written(folder, parts, **columns):
    """A DatasetDict of these parts, or one Dataset, with the pictures and other columns."""
    made = datasets.Dataset.from_dict({"img": PICTURES, **columns}).cast_column("img", datasets.Image())
    whole = datasets.DatasetDict(dict.fromkeys(parts, made)) if parts else made
    whole.save_to_disk(folder)
    return f"hf:{folder}"


@pytest.mark.parametrize(
    ("parts", "train", "test"),
    [
        (("train", "test"), 20, 20),
        (("train", "validation"), 20, 20),
        ((), 16, 4),
        (("train",), 16, 4),
        (("all",), 16, 4),
    ],
)
def test_parts(tmp_path, parts, train, test):
    data = load(written(tmp_path / "small", parts, label=[i % 2 for i in range(20)]), seed=1)
    assert (len(data.train), len(data.test), data.name) == (train, test, "small")
    assert data.train.classes == ("0", "1")
    assert data.spec.channels == 3


def test_pictures_of_several_sizes_are_resized(tmp_path):
    pictures = [picture.resize((6 + i % 3, 6)) for i, picture in enumerate(PICTURES)]
    made = datasets.Dataset.from_dict({"image": pictures, "label": [i % 2 for i in range(20)]})
    made.cast_column("image", datasets.Image()).save_to_disk(tmp_path / "mixed")
    with pytest.raises(DataError, match=r"must be of one shape, .* --size resizes them"):
        load(f"hf:{tmp_path / 'mixed'}")
    assert load(f"hf:{tmp_path / 'mixed'}", size=5, fit="pad").spec.height == 5


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"label": [[0, 1], [1]] * 10}, "several are not supported"),
        ({"label": [i / 20 for i in range(20)]}, "regression is not supported"),
        ({"label": list("ab" * 10)}, "np.unique"),
    ],
)
def test_other_tasks_are_refused(tmp_path, columns, message):
    name = written(tmp_path / "other", (), **columns)
    with pytest.raises(DataError, match=message) as error:
        load(name)
    assert str(error.value).startswith(name)
    assert "\n" not in str(error.value)


def test_what_cannot_be_loaded(tmp_path, monkeypatch):
    with pytest.raises(DataError, match="must be a folder that save_to_disk wrote; a folder of images needs no hf:"):
        load(f"hf:{tmp_path}")

    def unreachable(*args):
        raise ConnectionError("no network\nat all")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    with pytest.raises(DataError, match=r"hf:ylecun/mnist cannot be loaded \(ConnectionError: no network at all\)"):
        load("hf:ylecun/mnist")
    monkeypatch.setattr(source, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"needs the package datasets; pip install 'replab\[hf\]'"):
        load("hf:ylecun/mnist")


def test_a_configuration_follows_the_name(monkeypatch):
    asked = []

    def load_dataset(*args):
        asked.append(args)
        return datasets.Dataset.from_dict({"image": PICTURES, "label": [i % 2 for i in range(20)]}).cast_column(
            "image", datasets.Image()
        )

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    assert load("hf:org/faces:small").name == "faces"
    load("hf:org/faces")
    assert asked == [("org/faces", "small"), ("org/faces", None)]

"""One contract over all sources: the same images, however they come, give the same batches and the same weights."""

import csv
import shutil

import datasets
import numpy as np
import pandas
import pytest
import torch
from PIL import Image

from replab.api import prepare
from replab.data.batches import Batches
from replab.data.load import load
from replab.data.mapped import Mapped
from replab.data.objects import dataset_of

SOURCES = (
    "folder", "zip", "mapped", "arrays", "channels last", "npz", "torch", "hugging face", "saved to disk", "csv",
    "table",
)  # fmt: skip


class Pairs(torch.utils.data.Dataset):
    classes = tuple("0123456789")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i]).float() / 255, int(self.y[i])


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """name → what `data=` takes, in the order of a folder's files: by class."""
    place, data = tmp_path_factory.mktemp("content"), load("digits", limit=60)
    halves, rows = {}, []
    for split, images in (("train", data.train), ("test", data.test)):
        order = np.argsort(images.labels, kind="stable")
        halves[split] = images.pixels[order], images.labels[order]
        for i, (pixels, label) in enumerate(zip(*halves[split])):
            path = place / "folder" / split / str(label) / f"{i:03}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels[0]).save(path)
            rows.append({"path": str(path.relative_to(place)), "label": str(label), "split": split})
    shutil.make_archive(str(place / "zipped"), "zip", place / "folder")
    (x, y), (x_test, y_test) = halves["train"], halves["test"]
    np.savez(place / "arrays.npz", x=x, y=y, x_test=x_test, y_test=y_test)
    with open(place / "table.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=list("0123456789"))})
    hub = datasets.DatasetDict(
        {
            split: datasets.Dataset.from_dict(
                {"image": [Image.fromarray(p[0]) for p in pixels], "label": labels.tolist()}, features=features
            )
            for split, (pixels, labels) in halves.items()
        }
    )
    hub.save_to_disk(place / "hub")
    return {
        "folder": str(place / "folder"),
        "zip": str(place / "zipped.zip"),
        "mapped": str(place / "folder"),
        "arrays": (x, y, x_test, y_test),
        "channels last": (x.transpose(0, 2, 3, 1) / 255, y, x_test.transpose(0, 2, 3, 1) / 255, y_test),
        "npz": str(place / "arrays.npz"),
        "torch": (Pairs(x, y), Pairs(x_test, y_test)),
        "hugging face": hub,
        "saved to disk": f"hf:{place / 'hub'}",
        "csv": str(place / "table.csv"),
        "table": pandas.DataFrame([{**row, "path": str(place / row["path"])} for row in rows]),
    }


@pytest.fixture(scope="module")
def expected(content):
    return dataset_of(content["arrays"])


@pytest.mark.parametrize("source", SOURCES)
def test_the_same_classes_and_batches(content, expected, source, monkeypatch):
    monkeypatch.setenv("REPLAB_MEMORY", "0" if source == "mapped" else "1G")
    given = content[source]
    data = load(given) if isinstance(given, str) else dataset_of(given)
    assert isinstance(data.train.pixels, Mapped) == (source == "mapped")
    for one, two in ((data.train, expected.train), (data.test, expected.test)):
        assert one.classes == two.classes
        assert one.spec == two.spec
        assert np.bincount(one.labels).tolist() == np.bincount(two.labels).tolist()
        assert (one.mean, one.std) == (two.mean, two.std)
        for a, b in zip(
            *(Batches(i, 16, seed=5, shuffle=True, augment="flip").epoch(2) for i in (one, two)), strict=True
        ):
            assert torch.equal(a.x, b.x)
            assert torch.equal(a.y, b.y)


def trained(data):
    experiment = prepare("cnn", data, params={"channels": [4, 4, 4]}, lr=1e-2, epochs=2)
    model = experiment.model()
    for _ in experiment.fit(model):
        pass
    return model.state_dict()


@pytest.fixture(scope="module")
def weights(content):
    return trained(content["arrays"])


@pytest.mark.parametrize("source", SOURCES)
def test_the_same_seed_trains_the_same_weights(content, weights, source, monkeypatch):
    monkeypatch.setenv("REPLAB_MEMORY", "0" if source == "mapped" else "1G")
    found = trained(content[source])
    assert all(torch.equal(weights[name], found[name]) for name in weights)

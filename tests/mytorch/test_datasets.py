"""IDX files and the image datasets on tiny files made here; transforms beside plain arithmetic."""

import gzip
import pickle
import struct

import numpy as np
import pytest

import mytorch
from mytorch import datasets, transforms
from mytorch.datasets import read_idx
from mytorch.pickles import RefusedPickle


def idx(array: np.ndarray, code: int = 8) -> bytes:
    header = bytes([0, 0, code, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


def write_mnist(root, name="MNIST", counts=(("train", 7), ("t10k", 3)), zipped=False):
    folder = root / name / "raw"
    folder.mkdir(parents=True)
    made = {}
    for part, count in counts:
        rng = np.random.default_rng(count)
        images = rng.integers(0, 256, (count, 28, 28)).astype(np.uint8)
        labels = (np.arange(count) % 10).astype(np.uint8)
        for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
            data = idx(array)
            path = folder / f"{part}-{kind}-ubyte{'.gz' if zipped else ''}"
            path.write_bytes(gzip.compress(data) if zipped else data)
        made[part] = images, labels
    return made


@pytest.mark.parametrize(
    ("kind", "code"), [("u1", 8), ("i1", 9), ("i2", 0x0B), ("i4", 0x0C), ("f4", 0x0D), ("f8", 0x0E)]
)
@pytest.mark.parametrize("zipped", [False, True])
def test_idx_of_every_type(tmp_path, kind, code, zipped):
    array = np.arange(-3, 21).reshape(2, 3, 4).astype(kind)
    path = tmp_path / "x"
    path.write_bytes(gzip.compress(idx(array, code)) if zipped else idx(array, code))
    back = read_idx(path)
    assert back.dtype == np.dtype(kind)
    np.testing.assert_array_equal(back, array)


def test_idx_errors_say_what_is_wrong(tmp_path):
    good = idx(np.zeros((4, 5), np.uint8))
    path = tmp_path / "x"
    for content, message in (
        (good[:-3], "must hold 20 bytes for the shape .4, 5., but holds 17: fetch it again"),
        (good + b"\0", "but holds 21"),
        (good[:9], "2 sizes in its header, but ends after 9 bytes"),
        (b"\x89PNG....", r"starts with \[137, 80, 78, 71\]"),
        (b"\0\0\x07\x01", "check that it is the right file"),
        (b"", r"starts with \[\]"),
        (gzip.compress(good)[:-12], "must be a whole gzip file"),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            read_idx(path)


def test_emnist(tmp_path):
    folder = tmp_path / "EMNIST" / "raw"
    folder.mkdir(parents=True)
    for part in ("train", "test"):
        (folder / f"emnist-letters-{part}-images-idx3-ubyte").write_bytes(idx(np.zeros((3, 28, 28), np.uint8)))
        (folder / f"emnist-letters-{part}-labels-idx1-ubyte").write_bytes(idx(np.array([1, 26, 3], np.uint8)))
    letters = datasets.EMNIST(tmp_path, "letters", train=False)
    assert [letters.classes[letters[k][1]] for k in range(3)] == ["a", "z", "c"]
    with pytest.raises(ValueError, match="Unknown value 'vowels' for argument split"):
        datasets.EMNIST(tmp_path, "vowels")


@pytest.mark.parametrize("kind", ["MNIST", "FashionMNIST"])
@pytest.mark.parametrize("zipped", [False, True])
def test_mnist(tmp_path, kind, zipped):
    made = write_mnist(tmp_path, kind, zipped=zipped)
    chain = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
    for train, part in ((True, "train"), (False, "t10k")):
        images, labels = made[part]
        dataset = getattr(datasets, kind)(tmp_path, train=train, download=True, transform=chain)
        assert len(dataset) == len(images)
        x, y = dataset[2]
        assert (x.shape, x.dtype, type(y)) == ((1, 28, 28), mytorch.float32, int)
        np.testing.assert_allclose(x.numpy()[0], (images[2] / 255 - 0.1307) / 0.3081, rtol=1e-5, atol=1e-6)
        assert dataset.targets.tolist() == labels.tolist()
        np.testing.assert_array_equal(dataset.data.numpy(), images)
    assert len(dataset.classes) == 10
    assert dataset.class_to_idx[dataset.classes[3]] == 3
    assert repr(dataset).startswith(f"Dataset {kind}\n    Number of datapoints: 3")
    odd = getattr(datasets, kind)(str(tmp_path), target_transform=lambda y: y % 2)
    np.testing.assert_array_equal(np.asarray(odd[3][0]), made["train"][0][3])
    assert odd[3][1] == 1
    batch, target = next(iter(mytorch.utils.data.DataLoader(dataset, batch_size=2)))
    assert (batch.shape, target.dtype) == ((2, 1, 28, 28), mytorch.int64)


def test_absent_and_mismatched_files(tmp_path):
    with pytest.raises(RuntimeError, match=r"MNIST/raw/train-images-idx3-ubyte .*mytorch does not download"):
        datasets.MNIST(tmp_path, download=True)
    write_mnist(tmp_path)
    (tmp_path / "MNIST/raw/t10k-labels-idx1-ubyte").write_bytes(idx(np.zeros(2, np.uint8)))
    with pytest.raises(ValueError, match=r"as many labels, but has \(3, 28, 28\) and \(2,\)"):
        datasets.MNIST(tmp_path, train=False)
    with pytest.raises(NotImplementedError, match=r"torchvision\.datasets\.NoSuch"):
        _ = datasets.NoSuch


def test_cifar10(tmp_path):
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    pixels = np.random.default_rng(0).integers(0, 256, (2, 3, 32, 32)).astype(np.uint8)
    for name in [*[f"data_batch_{i}" for i in range(1, 6)], "test_batch"]:
        # protocol 2 with byte keys, as the published files are
        batch = {b"data": pixels.reshape(2, -1), b"labels": [3, 9], b"batch_label": b"x"}
        (folder / name).write_bytes(pickle.dumps(batch, protocol=2))
    train = datasets.CIFAR10(tmp_path, transform=transforms.ToTensor())
    assert len(train) == 10
    image, label = train[1]
    assert label == 9
    np.testing.assert_allclose(image.numpy(), pixels[1] / 255, rtol=1e-6)
    test = datasets.CIFAR10(tmp_path, train=False)
    assert test.data.shape == (2, 32, 32, 3)
    assert test.targets == [3, 9]
    assert test.classes[9] == "truck"
    (folder / "test_batch").write_bytes(pickle.dumps({"data": pixels.reshape(2, -1), "labels": [1, 2]}))
    assert datasets.CIFAR10(tmp_path, train=False).targets == [1, 2]  # names as Python 3 writes them
    hundred = tmp_path / "cifar-100-python"
    hundred.mkdir()
    (hundred / "train").write_bytes(
        pickle.dumps({b"data": pixels.reshape(2, -1), b"fine_labels": [42, 99]}, protocol=2)
    )
    assert [label for _, label in datasets.CIFAR100(tmp_path)] == [42, 99]
    (folder / "test_batch").write_bytes(pickle.dumps(print))
    with pytest.raises(RefusedPickle, match=r"test_batch: .*print"):
        datasets.CIFAR10(tmp_path, train=False)
    (folder / "test_batch").write_bytes(pickle.dumps([1]))
    with pytest.raises(ValueError, match="must hold 'data' and 'labels'"):
        datasets.CIFAR10(tmp_path, train=False)


def test_to_tensor_and_normalize():
    picture = np.random.default_rng(0).integers(0, 256, (4, 5, 3)).astype(np.uint8)
    x = transforms.ToTensor()(picture)
    assert x.is_contiguous()
    np.testing.assert_allclose(x.numpy(), picture.transpose(2, 0, 1) / 255, rtol=1e-6)
    floats = np.ones((4, 5))
    assert transforms.ToTensor()(floats).dtype == mytorch.float64
    normalize = transforms.Normalize([0.5, 0.4, 0.3], [0.1, 0.2, 0.3])
    expected = (x.numpy() - np.reshape([0.5, 0.4, 0.3], (3, 1, 1))) / np.reshape([0.1, 0.2, 0.3], (3, 1, 1))
    np.testing.assert_allclose(normalize(x).numpy(), expected, rtol=1e-4, atol=1e-6)
    kept = x.clone()
    assert transforms.Normalize([0.5] * 3, [0.5] * 3, inplace=True)(kept) is kept
    np.testing.assert_allclose(kept.numpy(), x.numpy() * 2 - 1, rtol=1e-5, atol=1e-6)
    for call, error, message in (
        (lambda: transforms.ToTensor()(np.zeros(3)), ValueError, "2/3 dimensional"),
        (lambda: normalize(picture), TypeError, "put ToTensor"),
        (lambda: transforms.Normalize([0.0], [0.0]), ValueError, "must not be zero"),
        (lambda: transforms.RandomCrop(9)(picture), ValueError, "give padding"),
    ):
        with pytest.raises(error, match=message):
            call()
    text = repr(transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))]))
    assert text == "Compose(\n    ToTensor()\n    Normalize(mean=(0.5,), std=(0.5,))\n)"
    with pytest.raises(NotImplementedError, match=r"torchvision\.transforms\.NoSuch"):
        _ = transforms.NoSuch


def test_flip_and_crop():
    mytorch.manual_seed(0)
    picture = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    tensor = transforms.ToTensor()(picture)
    for p, expected in ((1.0, picture[:, ::-1]), (0.0, picture)):
        np.testing.assert_array_equal(transforms.RandomHorizontalFlip(p)(picture), expected)
        flipped = transforms.RandomHorizontalFlip(p)(tensor)
        np.testing.assert_array_equal(flipped.numpy(), transforms.ToTensor()(expected).numpy())
    crop = transforms.RandomCrop((2, 3), padding=1)
    found = {crop(picture).tobytes() for _ in range(60)}
    padded = np.pad(picture, ((1, 1), (1, 1), (0, 0)))
    every = {padded[i : i + 2, j : j + 3].tobytes() for i in range(3) for j in range(4)}
    assert found <= every
    assert len(found) > 6
    assert crop(tensor).shape == (3, 2, 3)
    assert transforms.Lambda(lambda x: x + 1)(1) == 2


def test_the_names_of_old(tmp_path):
    made = write_mnist(tmp_path)
    train, test = datasets.MNIST(tmp_path), datasets.MNIST(tmp_path, train=False)
    np.testing.assert_array_equal(train.train_data.numpy(), made["train"][0])
    np.testing.assert_array_equal(train.train_labels.numpy(), made["train"][1])
    np.testing.assert_array_equal(test.test_data.numpy(), made["t10k"][0])
    np.testing.assert_array_equal(test.test_labels.numpy(), made["t10k"][1])


def test_images_and_labels_can_be_set_anew(tmp_path):
    made = write_mnist(tmp_path)
    data = datasets.MNIST(tmp_path, transform=transforms.ToTensor())
    few = data.targets < 2
    data.data, data.targets = data.data[few], data.targets[few]
    assert len(data) == 2
    assert [label for _, label in data] == [0, 1]
    np.testing.assert_allclose(data[1][0].numpy()[0] * 255, made["train"][0][1], atol=1e-4)

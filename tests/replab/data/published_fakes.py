"""Tiny MNIST, CIFAR and SVHN sets in their real formats on disk, written by the tests."""

import gzip
import io
import pickle
import struct
import tarfile

import numpy as np


def write_idx(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    data = struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def random_images(rng, n, *shape):
    return rng.integers(0, 256, (n, *shape), dtype=np.uint8)


def write_mnist(root, folder="MNIST", suffix="", train=20, test=10):
    """→ the training pixels (N, 28, 28)."""
    rng = np.random.default_rng(0)
    for half, n in (("t10k", test), ("train", train)):
        images = random_images(rng, n, 28, 28)
        write_idx(root / folder / "raw" / f"{half}-images-idx3-ubyte{suffix}", images)
        labels = (np.arange(n) % 10).astype(np.uint8)
        write_idx(root / folder / "raw" / f"{half}-labels-idx1-ubyte{suffix}", labels)
    return images


def cifar_files(classes, batches, key):
    """name → bytes, and the training pixels (N, 3072). Protocol 2: the published ones are Python 2's."""
    rng = np.random.default_rng(1)
    files, train = {}, []
    for name in batches:
        n = 2 * classes if name == "train" else classes
        data = random_images(rng, n, 3072)
        labels = [i % classes for i in range(n)]
        entry = {"batch_label": name, f"{key}s": labels, "data": data, "filenames": ["x.png"] * n}
        files[name] = pickle.dumps(entry, protocol=2)
        train += [data] if "test" not in name else []
    meta = "batches.meta" if key == "label" else "meta"
    files[meta] = pickle.dumps({f"{key}_names": [f"class{i}" for i in range(classes)]}, protocol=2)
    return files, np.concatenate(train)


CIFAR10 = ("cifar-10-batches-py", 10, [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"], "label")
CIFAR100 = ("cifar-100-python", 100, ["train", "test"], "fine_label")


def write_cifar(root, folder, classes, batches, key):
    files, train = cifar_files(classes, batches, key)
    (root / folder).mkdir(parents=True)
    for name, data in files.items():
        (root / folder / name).write_bytes(data)
    return train


def write_cifar_archive(path, folder, classes, batches, key):
    files, train = cifar_files(classes, batches, key)
    with tarfile.open(path, "w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return train


def write_cifar_binary(root, archive=None):
    """The same images as CIFAR10's, as a folder or in an archive."""
    files, train = cifar_files(*CIFAR10[1:])
    members = {}
    for name in CIFAR10[2]:
        entry = pickle.loads(files[name])
        labels = np.array(entry["labels"], np.uint8)[:, None]
        members[f"{name}.bin"] = np.concatenate([labels, entry["data"]], axis=1).tobytes()
    members["batches.meta.txt"] = "".join(f"class{i}\n" for i in range(10)).encode() + b"\n"
    if archive is None:
        (root / "cifar-10-batches-bin").mkdir(parents=True)
        for name, data in members.items():
            (root / "cifar-10-batches-bin" / name).write_bytes(data)
        return train
    with tarfile.open(root / archive, "w:gz") as file:
        for name, data in members.items():
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            member.size = len(data)
            file.addfile(member, io.BytesIO(data))
    return train


def write_svhn(root):
    from scipy.io import savemat

    rng = np.random.default_rng(2)
    for half, n in (("test", 10), ("train", 20)):
        images = random_images(rng, n, 3, 32, 32)
        labels = (np.arange(n) % 10 + 1).astype(np.uint8)[:, None]  # 1..10, 10 is the digit 0
        savemat(root / f"{half}_32x32.mat", {"X": images.transpose(2, 3, 1, 0), "y": labels})
    return images


WRITERS = {
    "digits": lambda root: None,
    "mnist": write_mnist,
    "fashion-mnist": lambda root: write_mnist(root, "FashionMNIST"),
    "cifar10": lambda root: write_cifar(root, *CIFAR10),
    "cifar100": lambda root: write_cifar(root, *CIFAR100),
    "svhn": write_svhn,
}

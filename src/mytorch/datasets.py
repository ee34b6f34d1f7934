"""read_idx, and MNIST and its relatives and CIFAR from local files, with torchvision's arguments."""

from __future__ import annotations

import gzip
import math
import os
import string
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from mytorch.absent import Absent
from mytorch.dtypes import unsupported
from mytorch.image_folder import DatasetFolder, FakeData, ImageFolder, VisionDataset
from mytorch.pickles import read_arrays
from mytorch.tensor import Tensor
from mytorch.utils.data import Dataset

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "EMNIST",
    "KMNIST",
    "MNIST",
    "DatasetFolder",
    "FakeData",
    "FashionMNIST",
    "ImageFolder",
    "VisionDataset",
    "read_idx",
]

# The third byte of an IDX file says the type of its values; they are stored big-endian.
_IDX_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: str | os.PathLike) -> np.ndarray:
    """The array in an IDX file, the format of MNIST; gzip is recognised by its first two bytes."""
    data = Path(path).read_bytes()
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(
                f"{path} must be a whole gzip file, but unpacking failed ({error}): fetch it again"
            ) from None
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in _IDX_TYPES:
        raise ValueError(
            f"an IDX file starts with 0, 0, a type and a rank, but {path} starts with {list(data[:4])}: "
            "check that it is the right file"
        )
    rank, kind = data[3], np.dtype(_IDX_TYPES[data[2]])
    start = 4 + 4 * rank
    if len(data) < start:
        raise ValueError(
            f"{path} must have {rank} sizes in its header, but ends after {len(data)} bytes: fetch it again"
        )
    shape = struct.unpack(f">{rank}I", data[4:start])
    expected = math.prod(shape) * kind.itemsize
    if len(data) - start != expected:
        raise ValueError(
            f"{path} must hold {expected} bytes for the shape {shape}, but holds {len(data) - start}: fetch it again"
        )
    return np.frombuffer(data, kind, offset=start).reshape(shape).astype(kind.newbyteorder("="))


class _Images(Dataset[tuple[Any, int]]):
    """Item i is (image, label); the image is a uint8 array (H, W) or (H, W, 3), which ToTensor accepts."""

    classes: tuple[str, ...]

    def __init__(
        self,
        root: Any,
        train: bool = True,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ):
        self.root, self.train = Path(root).expanduser(), train
        self.transform, self.target_transform = transform, target_transform
        self.data, self.targets = self._read()

    def _read(self) -> tuple[Any, Any]:
        """The images and the labels, as torchvision keeps them in `data` and `targets`, which may be set anew."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image: Any = (self.data._array if isinstance(self.data, Tensor) else self.data)[index]
        label: Any = int(self.targets[index])
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            label = self.target_transform(label)
        return image, label

    @property
    def class_to_idx(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.classes)}

    def __repr__(self) -> str:
        split = "Train" if self.train else "Test"
        lines = [f"Number of datapoints: {len(self)}", f"Root location: {self.root}", f"Split: {split}"]
        return f"Dataset {type(self).__name__}\n    " + "\n    ".join(lines)


class MNIST(_Images):
    """root/MNIST/raw holds the four IDX files, gzipped or not."""

    classes: tuple[str, ...] = (
        "0 - zero",
        "1 - one",
        "2 - two",
        "3 - three",
        "4 - four",
        "5 - five",
        "6 - six",
        "7 - seven",
        "8 - eight",
        "9 - nine",
    )

    def _read(self) -> tuple[Any, Any]:
        folder, part = self.root / type(self).__name__ / "raw", self._part()
        images = read_idx(_find(folder, f"{part}-images-idx3-ubyte"))
        labels = read_idx(_find(folder, f"{part}-labels-idx1-ubyte"))
        if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
            raise ValueError(
                f"{folder} must hold images (n, h, w) and as many labels, but has {images.shape} and {labels.shape}"
            )
        return Tensor(images), Tensor(labels.astype(np.int64))

    def _part(self) -> str:
        return "train" if self.train else "t10k"

    train_data = test_data = property(lambda self: self.data)  # the older names
    train_labels = test_labels = property(lambda self: self.targets)


class EMNIST(MNIST):
    """Letters and digits; `split` says which. root/EMNIST/raw holds emnist-<split>-train-images-idx3-ubyte …"""

    splits = ("byclass", "bymerge", "balanced", "letters", "digits", "mnist")

    def __init__(self, root: Any, split: str, **kwargs: Any):
        if split not in self.splits:
            raise ValueError(f"Unknown value '{split}' for argument split. Valid values are {self.splits}.")
        self.split = split
        both = sorted(set(string.digits + string.ascii_letters) - set("cijklmopsuvwxyz"))  # c and C are one class
        every = sorted(string.digits + string.ascii_letters)
        names = {"byclass": every, "bymerge": both, "balanced": both, "letters": ["N/A", *string.ascii_lowercase]}
        self.classes = tuple(names.get(split, string.digits))
        super().__init__(root, **kwargs)

    def _part(self) -> str:
        return f"emnist-{self.split}-{'train' if self.train else 'test'}"


class FashionMNIST(MNIST):
    """root/FashionMNIST/raw holds the four IDX files, gzipped or not."""

    classes = (
        "T-shirt/top",
        "Trouser",
        "Pullover",
        "Dress",
        "Coat",
        "Sandal",
        "Shirt",
        "Sneaker",
        "Bag",
        "Ankle boot",
    )


class KMNIST(MNIST):
    """root/KMNIST/raw holds the four IDX files, gzipped or not."""

    classes = ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo")


class CIFAR10(_Images):
    """root/cifar-10-batches-py holds CIFAR-10's Python version; its pickles are read without running them."""

    _name, _folder, _key = "CIFAR-10", "cifar-10-batches-py", "labels"
    _files: ClassVar[dict[bool, list[str]]] = {
        True: [f"data_batch_{number}" for number in range(1, 6)],
        False: ["test_batch"],
    }
    classes = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

    def _read(self) -> tuple[Any, Any]:
        folder, key = self.root / self._folder, self._key
        images, labels = [], []
        for path in [_find(folder, name) for name in self._files[self.train]]:
            with path.open("rb") as file:
                batch = read_arrays(file, str(path), encoding="bytes")
            if isinstance(batch, dict):  # the names are bytes in files of Python 2, as the published ones
                batch = {name.decode() if isinstance(name, bytes) else name: value for name, value in batch.items()}
            if not isinstance(batch, dict) or not {"data", key} <= batch.keys():
                raise ValueError(f"{path} must hold 'data' and '{self._key}': check that it is a {self._name} batch")
            images.append(np.asarray(batch["data"], np.uint8).reshape(-1, 3, 32, 32))
            labels += batch[key]
        pixels = np.concatenate(images).transpose(0, 2, 3, 1)  # (n, h, w, channels), as pictures are
        return np.ascontiguousarray(pixels), [int(label) for label in labels]


class CIFAR100(CIFAR10):
    """root/cifar-100-python holds CIFAR-100's Python version; the labels are the hundred fine ones."""

    _name, _folder, _key = "CIFAR-100", "cifar-100-python", "fine_labels"
    _files: ClassVar[dict[bool, list[str]]] = {True: ["train"], False: ["test"]}
    classes = tuple(str(number) for number in range(100))  # type: ignore[assignment]


def _find(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise RuntimeError(
        f"Dataset not found: {folder / name} (or {name}.gz) must exist. mytorch does not download; "
        "put the files there, or give the root where they are"
    )


_ABSENT = (
    *("CelebA", "Caltech101", "Cityscapes", "CocoCaptions", "CocoDetection", "EMNIST", "Flowers102", "Food101"),
    *("ImageNet", "LSUN", "Omniglot", "OxfordIIITPet", "QMNIST", "STL10", "SVHN", "USPS", "VOCSegmentation"),
)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _ABSENT:  # can be imported, and is refused when it is made
        return Absent(f"torchvision.datasets.{name}")
    raise unsupported(f"torchvision.datasets.{name}")

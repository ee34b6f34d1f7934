"""Data sets of files in folders, and of noise: DatasetFolder, ImageFolder, FakeData. Pictures are decoded by Pillow."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mytorch.utils.data import Dataset

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


class VisionDataset(Dataset[Any]):
    """What torchvision's data sets derive from: a root and the transforms."""

    def __init__(
        self,
        root: Any = None,
        transforms: Callable | None = None,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
    ):
        self.root, self.transforms = root, transforms
        self.transform, self.target_transform = transform, target_transform

    def _transformed(self, image: Any, target: Any) -> tuple[Any, Any]:
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target


def pil_loader(path: str | os.PathLike) -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(f"{path} is decoded by Pillow, which is not installed: pip install pillow") from None
    with open(path, "rb") as file:
        return Image.open(file).convert("RGB")


default_loader = pil_loader


class DatasetFolder(VisionDataset):
    """root/class_x/any.ext: every folder is a class, in alphabetical order."""

    def __init__(
        self,
        root: Any,
        loader: Callable[[str], Any],
        extensions: Sequence[str] | None = None,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ):
        super().__init__(root, None, transform, target_transform)
        self.loader, self.extensions = loader, extensions
        self.classes, self.class_to_idx = self.find_classes(root)
        wanted = is_valid_file or (lambda path: extensions is None or path.lower().endswith(tuple(extensions)))
        self.samples: list[tuple[str, int]] = []
        for name, number in self.class_to_idx.items():
            for folder, _, files in sorted(os.walk(Path(root) / name, followlinks=True)):
                paths = (os.path.join(folder, file) for file in sorted(files))
                self.samples += [(path, number) for path in paths if wanted(path)]
        if not self.samples and not allow_empty:
            raise FileNotFoundError(f"Found no valid file below {root}. Supported extensions are: {extensions}")
        self.targets = [number for _, number in self.samples]

    def find_classes(self, directory: Any) -> tuple[list[str], dict[str, int]]:
        classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
        if not classes:
            raise FileNotFoundError(f"Couldn't find any class folder in {directory}.")
        return classes, {name: number for number, name in enumerate(classes)}

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        return self._transformed(self.loader(path), target)

    def __len__(self) -> int:
        return len(self.samples)


class ImageFolder(DatasetFolder):
    def __init__(
        self,
        root: Any,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        loader: Callable[[str], Any] = default_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ):
        extensions = IMG_EXTENSIONS if is_valid_file is None else None
        super().__init__(root, loader, extensions, transform, target_transform, is_valid_file, allow_empty)
        self.imgs = self.samples


class FakeData(VisionDataset):
    """Noise with random labels, the same each time."""

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, ...] = (3, 224, 224),
        num_classes: int = 10,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        random_offset: int = 0,
    ):
        super().__init__(None, None, transform, target_transform)
        self.size, self.image_size, self.num_classes, self.random_offset = size, image_size, num_classes, random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if not 0 <= index < self.size:
            raise IndexError(f"{type(self).__name__} index out of range")
        rng = np.random.default_rng(index + self.random_offset)
        pixels = rng.integers(0, 256, (*self.image_size[1:], self.image_size[0])).astype(np.uint8)  # (H, W, C)
        return self._transformed(pixels, int(rng.integers(self.num_classes)))

    def __len__(self) -> int:
        return self.size

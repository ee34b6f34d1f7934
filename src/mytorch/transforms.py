"""What turns an image into a tensor: Compose, ToTensor, Normalize and two simple augmentations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mytorch.dtypes import unsupported
from mytorch.random import rand, randint
from mytorch.tensor import Tensor


class Compose:
    """One transform after the other."""

    def __init__(self, transforms: Sequence[Callable]):
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        lines = "".join(f"\n    {transform}" for transform in self.transforms)
        return f"{type(self).__name__}({lines}\n)"


class ToTensor:
    """An image (H, W) or (H, W, C) → a tensor (C, H, W); uint8 becomes float32 in 0…1."""

    def __call__(self, pic: Any) -> Tensor:
        pixels = np.asarray(pic)
        if pixels.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pixels.ndim} dimensions.")
        planes = pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
        if pixels.dtype == np.uint8:
            return Tensor(np.divide(planes, 255, dtype=np.float32, order="C"))
        return Tensor(np.ascontiguousarray(planes))

    def __repr__(self) -> str:
        return "ToTensor()"


class Normalize:
    """(x - mean) / std, channel by channel."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False):
        self.mean, self.std, self.inplace = mean, std, inplace
        self._mean = np.asarray(mean, np.float32).reshape(-1, 1, 1)
        self._std = np.asarray(std, np.float32).reshape(-1, 1, 1)
        if (self._std == 0).any():
            raise ValueError(f"std must not be zero, but got {std}: leave the channel's std at 1")

    def __call__(self, tensor: Tensor) -> Tensor:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"img should be Tensor Image. Got {type(tensor)}: put ToTensor() before Normalize()")
        array = tensor._array if self.inplace else tensor._array - self._mean.astype(tensor._array.dtype)
        if self.inplace:
            array -= self._mean
            tensor._version[0] += 1
        array /= self._std
        return tensor if self.inplace else Tensor(array)

    def __repr__(self) -> str:
        return f"Normalize(mean={self.mean}, std={self.std})"


class Lambda:
    def __init__(self, lambd: Callable):
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)

    def __repr__(self) -> str:
        return "Lambda()"


class RandomHorizontalFlip:
    """Mirrors an image, or a tensor (…, H, W), with probability p."""

    def __init__(self, p: float = 0.5):
        self.p = p

    def __call__(self, img: Any) -> Any:
        if float(rand(1)) >= self.p:
            return img
        if isinstance(img, Tensor):
            return Tensor(np.ascontiguousarray(img._array[..., ::-1]))
        return np.ascontiguousarray(np.asarray(img)[:, ::-1])

    def __repr__(self) -> str:
        return f"RandomHorizontalFlip(p={self.p})"


class RandomCrop:
    """A random part of the given size, of the image with `padding` zeros around it."""

    def __init__(self, size: int | Sequence[int], padding: int | None = None):
        self.size = (size, size) if isinstance(size, int) else tuple(size)
        self.padding = padding

    def __call__(self, img: Any) -> Any:
        is_tensor = isinstance(img, Tensor)
        pixels = img._array if is_tensor else np.asarray(img)
        axes = (pixels.ndim - 2, pixels.ndim - 1) if is_tensor else (0, 1)
        if self.padding:
            around = [(self.padding, self.padding) if axis in axes else (0, 0) for axis in range(pixels.ndim)]
            pixels = np.pad(pixels, around)
        cut = [slice(None)] * pixels.ndim
        for axis, length in zip(axes, self.size):
            room = pixels.shape[axis] - length
            if room < 0:
                raise ValueError(
                    f"Required crop size {self.size} is larger than input image size {pixels.shape}: give padding"
                )
            start = int(randint(0, room + 1, (1,)))
            cut[axis] = slice(start, start + length)
        part = np.ascontiguousarray(pixels[tuple(cut)])
        return Tensor(part) if is_tensor else part

    def __repr__(self) -> str:
        return f"RandomCrop(size={self.size}, padding={self.padding})"


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise unsupported(f"torchvision.transforms.{name}")

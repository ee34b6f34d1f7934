"""Transforms that do the same every time: Compose, ToTensor, Normalize, Resize, CenterCrop, Pad and their like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mytorch.nn.modules.module import Module
from mytorch.tensor import Tensor

from . import functional as F
from .functional import InterpolationMode


class Compose:
    """Applies one transform after the other."""

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
        return F.to_tensor(pic)

    def __repr__(self) -> str:
        return "ToTensor()"


class PILToTensor:
    """A picture → a tensor (C, H, W) of the same numbers."""

    def __call__(self, pic: Any) -> Tensor:
        return F.pil_to_tensor(pic)

    def __repr__(self) -> str:
        return "PILToTensor()"


class ToImage(PILToTensor):
    """The v2 name."""


class ToPILImage:
    def __init__(self, mode: str | None = None):
        self.mode = mode

    def __call__(self, pic: Any) -> Any:
        return F.to_pil_image(pic, self.mode)

    def __repr__(self) -> str:
        return f"ToPILImage({'' if self.mode is None else f'mode={self.mode}'})"


class Lambda:
    def __init__(self, lambd: Callable):
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)

    def __repr__(self) -> str:
        return "Lambda()"


class ConvertImageDtype(Module):
    def __init__(self, dtype: Any):
        super().__init__()
        self.dtype = dtype

    def forward(self, image: Tensor) -> Tensor:
        return F.convert_image_dtype(image, self.dtype)


class ToDtype(Module):
    """v2: to a dtype, with scale=True to that dtype's range of values as well."""

    def __init__(self, dtype: Any, scale: bool = False):
        super().__init__()
        self.dtype, self.scale = dtype, scale

    def forward(self, image: Tensor) -> Tensor:
        return F.convert_image_dtype(image, self.dtype) if self.scale else image.to(self.dtype)


class Normalize(Module):
    """(x - mean) / std, channel by channel."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False):
        super().__init__()
        self.mean, self.std, self.inplace = mean, std, inplace
        if (np.asarray(std) == 0).any():
            raise ValueError(f"std must not be zero, but got {std}: leave the channel's std at 1")

    def forward(self, tensor: Tensor) -> Tensor:
        return F.normalize(tensor, self.mean, self.std, self.inplace)

    def __repr__(self) -> str:
        return f"Normalize(mean={self.mean}, std={self.std})"


class Resize(Module):
    """To (height, width), or, of one number, so that the shorter side has that length."""

    def __init__(
        self,
        size: Any,
        interpolation: Any = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ):
        super().__init__()
        self.size, self.interpolation, self.max_size, self.antialias = size, interpolation, max_size, antialias

    def forward(self, img: Any) -> Any:
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def __repr__(self) -> str:
        how = F.mode_of(self.interpolation)
        return f"Resize(size={self.size}, interpolation={how}, max_size={self.max_size}, antialias={self.antialias})"


Scale = Resize  # its older name


class CenterCrop(Module):
    def __init__(self, size: Any):
        super().__init__()
        self.size = F.pair(size)

    def forward(self, img: Any) -> Any:
        return F.center_crop(img, self.size)

    def __repr__(self) -> str:
        return f"CenterCrop(size={self.size})"


class Pad(Module):
    def __init__(self, padding: Any, fill: Any = 0, padding_mode: str = "constant"):
        super().__init__()
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def forward(self, img: Any) -> Any:
        return F.pad(img, self.padding, self.fill, self.padding_mode)

    def __repr__(self) -> str:
        return f"Pad(padding={self.padding}, fill={self.fill}, padding_mode={self.padding_mode})"


class Grayscale(Module):
    def __init__(self, num_output_channels: int = 1):
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img: Any) -> Any:
        return F.rgb_to_grayscale(img, self.num_output_channels)

    def __repr__(self) -> str:
        return f"Grayscale(num_output_channels={self.num_output_channels})"


class FiveCrop(Module):
    def __init__(self, size: Any):
        super().__init__()
        self.size = F.pair(size)

    def forward(self, img: Any) -> tuple:
        return F.five_crop(img, self.size)

    def __repr__(self) -> str:
        return f"FiveCrop(size={self.size})"


class TenCrop(Module):
    def __init__(self, size: Any, vertical_flip: bool = False):
        super().__init__()
        self.size, self.vertical_flip = F.pair(size), vertical_flip

    def forward(self, img: Any) -> tuple:
        return F.ten_crop(img, self.size, self.vertical_flip)

    def __repr__(self) -> str:
        return f"TenCrop(size={self.size}, vertical_flip={self.vertical_flip})"


class LinearTransformation(Module):
    """(pixels - mean) · matrix, the image taken as one long row: for whitening."""

    def __init__(self, transformation_matrix: Tensor, mean_vector: Tensor):
        super().__init__()
        rows, columns = transformation_matrix.shape
        if rows != columns or tuple(mean_vector.shape) != (rows,):
            raise ValueError(
                "transformation_matrix should be square and mean_vector as long as its side. "
                f"Got matrix {(rows, columns)} and mean {tuple(mean_vector.shape)}."
            )
        self.transformation_matrix, self.mean_vector = transformation_matrix, mean_vector

    def forward(self, tensor: Tensor) -> Tensor:
        flat = tensor.reshape(-1, self.mean_vector.shape[0]) - self.mean_vector
        return (flat @ self.transformation_matrix).reshape(tensor.shape)

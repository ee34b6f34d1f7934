"""torchvision.transforms: what turns an image into a tensor, and what varies it."""

from typing import Any

from mytorch.absent import Absent
from mytorch.dtypes import unsupported

from . import functional
from .basic import (
    CenterCrop,
    Compose,
    ConvertImageDtype,
    FiveCrop,
    Grayscale,
    Lambda,
    Normalize,
    Pad,
    PILToTensor,
    Resize,
    Scale,
    TenCrop,
    ToDtype,
    ToImage,
    ToPILImage,
    ToTensor,
)
from .functional import InterpolationMode
from .randomized import (
    ColorJitter,
    GaussianBlur,
    RandomAffine,
    RandomApply,
    RandomChoice,
    RandomCrop,
    RandomErasing,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomInvert,
    RandomOrder,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
)

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ConvertImageDtype",
    "FiveCrop",
    "GaussianBlur",
    "Grayscale",
    "InterpolationMode",
    "Lambda",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RandomAffine",
    "RandomApply",
    "RandomChoice",
    "RandomCrop",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomOrder",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomVerticalFlip",
    "Resize",
    "Scale",
    "TenCrop",
    "ToDtype",
    "ToImage",
    "ToPILImage",
    "ToTensor",
    "functional",
]


_ABSENT = (
    *("AugMix", "AutoAugment", "AutoAugmentPolicy", "ElasticTransform", "LinearTransformation", "RandAugment"),
    *("RandomAdjustSharpness", "RandomEqualize", "RandomPerspective", "TrivialAugmentWide"),
)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _ABSENT:  # can be imported, and is refused when it is made
        return Absent(f"torchvision.transforms.{name}")
    raise unsupported(f"torchvision.transforms.{name}")

"""torchvision.transforms: what turns an image into a tensor, and what varies it."""

from typing import Any

from mytorch.absent import Absent
from mytorch.dtypes import unsupported

from . import functional
from .augment import AutoAugment, AutoAugmentPolicy, RandAugment, TrivialAugmentWide
from .basic import (
    CenterCrop,
    Compose,
    ConvertImageDtype,
    FiveCrop,
    Grayscale,
    Lambda,
    LinearTransformation,
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
from .batches import CutMix, MixUp
from .chance import (
    RandomAdjustSharpness,
    RandomApply,
    RandomAutocontrast,
    RandomChoice,
    RandomEqualize,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomInvert,
    RandomOrder,
    RandomPerspective,
    RandomPosterize,
    RandomSolarize,
    RandomVerticalFlip,
)
from .functional import InterpolationMode
from .randomized import (
    ColorJitter,
    GaussianBlur,
    RandomAffine,
    RandomCrop,
    RandomErasing,
    RandomResizedCrop,
    RandomRotation,
)

__all__ = [
    "AutoAugment",
    "AutoAugmentPolicy",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ConvertImageDtype",
    "CutMix",
    "FiveCrop",
    "GaussianBlur",
    "Grayscale",
    "InterpolationMode",
    "Lambda",
    "LinearTransformation",
    "MixUp",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomApply",
    "RandomAutocontrast",
    "RandomChoice",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomOrder",
    "RandomPerspective",
    "RandomPosterize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSolarize",
    "RandomVerticalFlip",
    "Resize",
    "Scale",
    "TenCrop",
    "ToDtype",
    "ToImage",
    "ToPILImage",
    "ToTensor",
    "TrivialAugmentWide",
    "functional",
]


_ABSENT = ("AugMix", "ElasticTransform")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _ABSENT:  # can be imported, and is refused when it is made
        return Absent(f"torchvision.transforms.{name}")
    raise unsupported(f"torchvision.transforms.{name}")

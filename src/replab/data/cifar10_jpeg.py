"""cifar10-jpeg: CIFAR-10 packed as JPEG. Lossy, so its results carry this name, never cifar10's."""

from __future__ import annotations

from replab.data import folder
from replab.data.images import Dataset
from replab.data.sources import source
from replab.data.torchvision_sets import CIFAR10_CONSTANTS, data_root
from replab.errors import DataError


@source("cifar10-jpeg", "32x32 colour, CIFAR-10 as lossy JPEG, from cifar10-jpeg.zip in $REPLAB_DATA")
def cifar10_jpeg(*, size: int | None, seed: int) -> Dataset:
    path = data_root() / "cifar10-jpeg.zip"
    if not path.is_file():
        raise DataError(f"cifar10-jpeg needs {path}, which is not there; put it there, or use --data digits")
    return folder.load(path, size=size, seed=seed, name="cifar10-jpeg", constants=CIFAR10_CONSTANTS)

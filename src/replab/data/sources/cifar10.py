"""32x32 colour photographs of things and animals, 50,000 + 10,000 images, 10 classes"""

from __future__ import annotations

from replab.data.decode import archives
from replab.data.images import Dataset
from replab.data.source import source

CONSTANTS = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))


@source(shape=(3, 32, 32), classes=10)
def cifar10(*, size: int | None, seed: int) -> Dataset:
    train = [f"data_batch_{i}" for i in range(1, 6)]
    forms = archives.cifar_forms("cifar-10-batches-py", "cifar-10-python", train, "test_batch", "batches.meta", "label")
    return archives.load("cifar10", forms, "CIFAR10", size, CONSTANTS)

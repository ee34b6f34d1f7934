"""32x32 colour photographs of things and animals, 50,000 + 10,000 images, 100 classes"""

from __future__ import annotations

from replab.data.decode import archives
from replab.data.images import Dataset
from replab.data.source import source

CONSTANTS = ((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762))
FORMS = archives.cifar_forms("cifar-100-python", "cifar-100-python.tar.gz", ["train"], "test", "meta", "fine_label")


@source(picks=True, shape=(3, 32, 32), classes=100, mirror=True, forms=FORMS, hosts=("https://www.cs.toronto.edu",))
def cifar100(*, size: int | None, seed: int, pick: archives.Pick | None = None) -> Dataset:
    return archives.load("cifar100", FORMS, "CIFAR100", size, CONSTANTS, pick=pick)

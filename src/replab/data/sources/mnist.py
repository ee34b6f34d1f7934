"""28x28 gray handwritten digits, 60,000 + 10,000 images, 10 classes"""

from __future__ import annotations

from replab.data.decode import archives
from replab.data.images import Dataset
from replab.data.source import source

FORMS = archives.idx_forms("MNIST", tuple(map(str, range(10))))


@source(picks=True, shape=(1, 28, 28), classes=10, forms=FORMS, hosts=("https://ossci-datasets.s3.amazonaws.com",))
def mnist(*, size: int | None, seed: int, pick: archives.Pick | None = None) -> Dataset:
    return archives.load("mnist", FORMS, "MNIST", size, ((0.1307,), (0.3081,)), pick=pick)

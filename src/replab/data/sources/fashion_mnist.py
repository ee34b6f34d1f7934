"""28x28 gray pictures of clothes, 60,000 + 10,000 images, 10 classes"""

from __future__ import annotations

from replab.data.decode import archives
from replab.data.images import Dataset
from replab.data.source import source

CLOTHES = "T-shirt/top|Trouser|Pullover|Dress|Coat|Sandal|Shirt|Sneaker|Bag|Ankle boot"
FORMS = archives.idx_forms("FashionMNIST", tuple(CLOTHES.split("|")))
HOST = "https://raw.githubusercontent.com"


@source(picks=True, shape=(1, 28, 28), classes=10, mirror=True, forms=FORMS, hosts=(HOST,))
def fashion_mnist(*, size: int | None, seed: int, pick: archives.Pick | None = None) -> Dataset:
    return archives.load("fashion-mnist", FORMS, "FashionMNIST", size, ((0.2860,), (0.3530,)), pick=pick)

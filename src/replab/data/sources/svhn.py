"""32x32 colour photographs of house numbers, 73,257 + 26,032 images, 10 classes"""

from __future__ import annotations

from replab.data.decode import archives
from replab.data.decode.published_files import read_svhn
from replab.data.images import Dataset
from replab.data.source import source

FORMS = [
    archives.Form(
        ("train_32x32.mat", "test_32x32.mat"),
        lambda paths: (*read_svhn(paths[0]), *read_svhn(paths[1]), tuple(map(str, range(10)))),
    )
]


@source(shape=(3, 32, 32), classes=10, forms=FORMS, hosts=("https://ufldl.stanford.edu",))
def svhn(*, size: int | None, seed: int) -> Dataset:
    return archives.load("svhn", FORMS, "SVHN", size, None)

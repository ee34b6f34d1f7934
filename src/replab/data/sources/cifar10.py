"""32x32 colour photographs of things and animals, 50,000 + 10,000 images, 10 classes"""

from __future__ import annotations

import tarfile
from pathlib import Path

from replab.data.decode import archives
from replab.data.images import Dataset
from replab.data.source import source

CONSTANTS = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
PYTHON, BINARY = "cifar-10-batches-py", "cifar-10-batches-bin"
BATCHES = [f"data_batch_{i}" for i in range(1, 6)]


def python_forms(folder: str = PYTHON, archive: str = "cifar-10-python.tar.gz") -> list[archives.Form]:
    return archives.cifar_forms(folder, archive, BATCHES, "test_batch", "batches.meta", "label")


def binary_forms(folder: str = BINARY, archive: str = "cifar-10-binary.tar.gz") -> list[archives.Form]:
    return archives.cifar_binary_forms(folder, archive, [f"{b}.bin" for b in BATCHES], "test_batch.bin")


FORMS = [*binary_forms(), *python_forms()]  # the last form is the one that is downloaded


@source(picks=True, shape=(3, 32, 32), classes=10, mirror=True, forms=FORMS, hosts=("https://www.cs.toronto.edu",))
def cifar10(*, size: int | None, seed: int, pick: archives.Pick | None = None) -> Dataset:
    return archives.load("cifar10", FORMS, "CIFAR10", size, CONSTANTS, pick=pick)


def is_at(path: Path) -> bool:
    """Whether a path is CIFAR-10 as it is published: one of its folders or archives."""
    return bool(_form_at(path))


def read_at(path: Path, size: int | None) -> Dataset:
    return archives.load("cifar10", _form_at(path), "", size, CONSTANTS, path.resolve().parent)


def _form_at(path: Path) -> list[archives.Form]:
    if path.is_dir():
        name = path.resolve().name
        for wanted, forms in ((f"{BATCHES[0]}.bin", binary_forms), (BATCHES[0], python_forms)):
            if (path / wanted).is_file():
                return forms(folder=name)[:1]
        return []
    if not path.name.lower().endswith((".tar.gz", ".tgz", ".tar")):
        return []
    try:
        with tarfile.open(path) as archive:
            first = archive.next()
    except (OSError, EOFError, tarfile.TarError):
        return []
    top = "" if first is None else first.name.removeprefix("./").split("/")[0]
    kinds = {PYTHON: python_forms, BINARY: binary_forms}
    return kinds[top](archive=path.name)[1:] if top in kinds else []

"""Names and files of pretrained weights, without torch: what is neither here nor to be had is refused at once."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from replab import files
from replab.data.decode import reach
from replab.errors import ModelError

ALIASES = {"vit-b16": "vit_b_16"}
PREFIX = "torchvision:"
HOST = "https://download.pytorch.org"


def torchvision_name(model: str) -> str | None:
    """vit_b_16 for vit-b16 and torchvision:vit_b_16; None for other models."""
    if model in ALIASES:
        return ALIASES[model]
    return model.removeprefix(PREFIX) if model.startswith(PREFIX) else None


def weights_folder() -> Path:
    return files.cache_root() / "weights"


def check_reachable(model: str) -> None:
    """Refuse weights of torchvision's that are neither in the cache nor to be downloaded from here."""
    name = "resnet18" if model == "resnet18" else torchvision_name(model)
    if name is None or (weights_folder() / file_of(name)).is_file():
        return
    if reason := reach.obstacle(HOST):
        raise ModelError(
            f"{file_of(name)} is not in {weights_folder()} and cannot be downloaded ({reason});"
            " put it there, or give --weights PATH"
        )


def file_of(name: str) -> str:
    """The file of a model's default weights, by torchvision's text: importing it takes seconds."""
    spec = importlib.util.find_spec("torchvision")
    texts = sorted(Path(spec.origin).parent.glob("models/*.py")) if spec is not None and spec.origin else []
    of_class = re.compile(rf"^class {re.escape(name)}_Weights\(.*?^    DEFAULT = (\w+)$", re.I | re.M | re.S)
    for path in texts:
        if found := of_class.search(path.read_text(encoding="utf-8")):
            file = re.search(rf"^    {found[1]} = Weights\(.*?/([^/\"]+\.pth)\"", found[0], re.M | re.S)
            return file[1] if file else f"{name}-….pth"
    return f"{name}-….pth"

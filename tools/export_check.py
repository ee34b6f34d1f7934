"""Every registered model leaves a tiny run as ONNX, TorchScript, torch.export and safetensors: make export-check.

Prints the table of docs/deploy.md: the largest difference between each file and the run it came from.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from replab import api
from replab.deploy.export import export
from replab.errors import ReplabError
from replab.models.registry import MODELS

FORMATS = {"onnx": "onnx", "torchscript": "pt", "torch-export": "pt2", "safetensors": "safetensors"}
SIZES = {"vit-mnist": 28}  # the others are made at 32x32
SMALL = {"ddpm": {"draws": 4}}  # one pass through the network per draw: all of them are in the file


def row(name: str, folder: Path) -> list[str]:
    """A run of one epoch on 60 images, and its four files."""
    run = api.run(
        name, "digits", size=SIZES.get(name, 32), limit=60, epochs=1, lr=1e-3, quiet=True, runs=folder,
        params=SMALL.get(name, {}),
    )  # fmt: skip
    files = export(run, {kind: folder / f"{name}.{ending}" for kind, ending in FORMATS.items()})
    compared = f"{files[0].compared} {files[0].what}"
    size = f"{files[0].path.stat().st_size / 1e6:.1f}"
    return [f"`{name}`", *(f"{file.difference:.0e}" for file in files), compared, size]


def main(names: list[str]) -> int:
    failed = 0
    head = ["model", "ONNX", "TorchScript", "torch.export", "safetensors", "compared", "MB (ONNX)"]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for name in names or MODELS.names():
        with tempfile.TemporaryDirectory() as folder:
            try:
                cells = row(name, Path(folder))
            except ReplabError as error:
                failed, cells = failed + 1, [f"`{name}`", str(error)]
        print("| " + " | ".join(cells) + " |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

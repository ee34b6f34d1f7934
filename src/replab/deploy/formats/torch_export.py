"""torch.export: a program for torch alone, to be compiled by AOTInductor or read by ExecuTorch (.pt2)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replab.deploy.formats.base import Outputs, file_format, silent

if TYPE_CHECKING:
    from replab.deploy.deployed import Deployed

CONFIG = "config.json"  # of its extra files


@file_format(flag="--torch-export", needs=(), extra="", traced=True)
class TorchExport:
    @staticmethod
    def write(deployed: Deployed, config: dict[str, Any], path: Path, program: Any) -> None:
        import torch

        with silent():
            torch.export.save(program, path, extra_files={CONFIG: json.dumps(config, ensure_ascii=False)})

    @staticmethod
    def read(path: Path, deployed: Deployed) -> Outputs:
        import torch

        with silent():
            loaded = torch.export.load(path).module()

        def outputs(**arrays: np.ndarray) -> np.ndarray:
            with torch.no_grad():
                return np.asarray(loaded(*(torch.from_numpy(arrays[name]) for name in deployed.inputs)).numpy())

        return outputs

"""TorchScript: for libtorch in C++ and for programs with torch and without replab."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replab.deploy.formats.base import Outputs, file_format, plain_attention, silent

if TYPE_CHECKING:
    from replab.deploy.deployed import Deployed

CONFIG = "config.json"  # of its extra files


@file_format(flag="--torchscript", needs=(), extra="", traced=True)
class Torchscript:
    @staticmethod
    def write(deployed: Deployed, config: dict[str, Any], path: Path, program: Any) -> None:
        import torch

        with silent(), torch.no_grad(), plain_attention():
            traced = torch.jit.trace(deployed, deployed.example(3), check_trace=False)  # the check is of the file
            torch.jit.save(traced, str(path), _extra_files={CONFIG: json.dumps(config, ensure_ascii=False)})

    @staticmethod
    def read(path: Path, deployed: Deployed) -> Outputs:
        import torch

        with silent():
            loaded = torch.jit.load(str(path))

        def outputs(**arrays: np.ndarray) -> np.ndarray:
            with torch.no_grad():
                return np.asarray(loaded(*(torch.from_numpy(arrays[name]) for name in deployed.inputs)).numpy())

        return outputs

"""safetensors: the weights by name, without code, and beside them FILE.json: model, shape, normalisation, classes."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replab.deploy.formats.base import Outputs, file_format

if TYPE_CHECKING:
    from replab.deploy.deployed import Deployed


@file_format(flag="--safetensors", needs=(), extra="", traced=False)
class Safetensors:
    @staticmethod
    def write(deployed: Deployed, config: dict[str, Any], path: Path, program: Any) -> None:
        from safetensors.torch import save_file

        state = {name: value.contiguous().clone() for name, value in deployed.net.state_dict().items()}
        save_file(state, path, metadata={"format": "pt"})
        path.with_suffix(".json").write_text(json.dumps(config, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def read(path: Path, deployed: Deployed) -> Outputs:
        import torch
        from safetensors.torch import load_file

        other = copy.deepcopy(deployed)
        with torch.no_grad():
            for parameter in other.net.parameters():
                parameter.zero_()  # what the file does not hold shows
        other.net.load_state_dict(load_file(path))

        def outputs(**arrays: np.ndarray) -> np.ndarray:
            with torch.no_grad():
                return np.asarray(other(*(torch.from_numpy(arrays[name]) for name in deployed.inputs)).numpy())

        return outputs

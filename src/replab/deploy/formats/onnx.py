"""ONNX: for onnxruntime, browsers, phones and other languages; the class names are in its metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replab.deploy.formats.base import Outputs, file_format, plain_attention, silent

if TYPE_CHECKING:
    from replab.deploy.deployed import Deployed


@file_format(flag="--onnx", needs=("onnx", "onnxscript", "onnxruntime"), extra="onnx", traced=True)
class Onnx:
    @staticmethod
    def write(deployed: Deployed, config: dict[str, Any], path: Path, program: Any) -> None:
        import onnx
        import torch

        with silent(), torch.no_grad(), plain_attention():
            made = torch.onnx.export(program, dynamo=True, verbose=False, optimize=True)
        proto = made.model_proto
        rename(proto.graph, deployed)
        proto.ClearField("metadata_props")
        onnx.helper.set_model_props(proto, {key: text(value) for key, value in config.items()})
        onnx.save(proto, path)

    @staticmethod
    def read(path: Path, deployed: Deployed) -> Outputs:
        import onnxruntime

        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])

        def outputs(**arrays: np.ndarray) -> np.ndarray:
            return np.asarray(session.run(None, arrays)[0])

        return outputs


def rename(graph: Any, deployed: Deployed) -> None:
    """The output and the free dimensions by name, instead of s34 and softmax_7."""
    (output,) = graph.output
    for node in graph.node:
        node.output[:] = [deployed.output if name == output.name else name for name in node.output]
        node.input[:] = [deployed.output if name == output.name else name for name in node.input]
    output.name = deployed.output
    names = {}
    for value in graph.input:
        for place, dimension in enumerate(value.type.tensor_type.shape.dim):
            if dimension.dim_param and place in deployed.free.get(value.name, {}):
                names[dimension.dim_param] = deployed.free[value.name][place]
    for value in (*graph.input, *graph.output, *graph.value_info):
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_param in names:
                dimension.dim_param = names[dimension.dim_param]


def text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

"""export: a trained model leaves its run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replab.cli.app import RESULTS, ModelFile, RunName, Runs, TrustOption, app, asked


@app.command(rich_help_panel=RESULTS)
def export(
    run: RunName,
    onnx: Annotated[Path | None, typer.Option(metavar="FILE", help="ONNX, for onnxruntime and other languages")] = None,
    torchscript: Annotated[Path | None, typer.Option(metavar="FILE", help="TorchScript, for libtorch")] = None,
    torch_export: Annotated[Path | None, typer.Option(metavar="FILE", help="torch.export's own file, .pt2")] = None,
    safetensors: Annotated[
        Path | None, typer.Option(metavar="FILE", help="the weights, and a .json beside them that describes the model")
    ] = None,
    model: ModelFile = None,
    trust: TrustOption = False,
    runs: Runs = None,
) -> None:
    """Write the trained model as a file that needs no replab, checked against the predictions of the run.

    Resizing, normalisation, softmax and class names are inside.
    """
    from replab.deploy import export as exporting

    named = {"onnx": onnx, "torchscript": torchscript, "torch-export": torch_export, "safetensors": safetensors}
    files = {name: path for name, path in named.items() if path is not None}
    exporting.check(files)
    from replab import api

    for written in exporting.export(api.load_run(run, runs, trust=asked(trust)), files, model):
        print(written)

"""export and card as a notebook calls them: a run by id, path or `latest`, or as an object."""

from __future__ import annotations

from pathlib import Path

from replab.deploy import card as cards
from replab.deploy import export as exporting
from replab.deploy.export import Exported
from replab.records.record import Record, runs_folder
from replab.runs.run import Run, finished_runs


def export(
    run: Run | str | Path,
    *,
    onnx: str | Path | None = None,
    torchscript: str | Path | None = None,
    torch_export: str | Path | None = None,
    safetensors: str | Path | None = None,
    runs: str | Path | None = None,
) -> list[Exported]:
    """Write the trained model of a run as files that need no replab, each compared with the predictions of the run.

    Example:
        for file in replab.export(trained, torchscript="model.pt"):
            print(file.path, file.difference)
    """
    named = {"onnx": onnx, "torchscript": torchscript, "torch-export": torch_export, "safetensors": safetensors}
    return exporting.export(_opened(run, runs), {name: path for name, path in named.items() if path is not None})


def card(run: Run | str | Path, runs: str | Path | None = None) -> str:
    """The model card of a finished run, in Markdown with the Hugging Face Hub's metadata.

    Example:
        print(replab.card(trained)[:60])
    """
    opened = _opened(run, runs)
    return cards.card(opened, finished_runs(opened.folder.parent))


def _opened(run: Run | str | Path, runs: str | Path | None) -> Run:
    return run if isinstance(run, Run) else Run(Record.open(run, runs_folder(runs)))

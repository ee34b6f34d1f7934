"""The files of one finished run, made once; runs of these tests draw no figures, which would take seconds each."""

import pytest

from replab.deploy import export as exporting
from replab.report import write as report

FILES = {"onnx": "a.onnx", "torchscript": "a.pt", "torch-export": "a.pt2", "safetensors": "a.safetensors"}


@pytest.fixture(autouse=True)
def without_figures(monkeypatch):
    monkeypatch.setattr(report, "draw", lambda *_: [])


@pytest.fixture(scope="session")
def exported(finished_run, tmp_path_factory):
    """All four files of the finished mlp, in a folder of their own."""
    folder = tmp_path_factory.mktemp("exported")
    return folder, exporting.export(finished_run, {name: folder / file for name, file in FILES.items()})

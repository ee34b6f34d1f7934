"""The examples of docs/extend.md, run as they stand there."""

import re
from pathlib import Path

import pytest

from replab import api
from replab.report import write as report

PAGE = (Path(__file__).parents[2] / "docs" / "extend.md").read_text()
PARTS, CLASSIFIER = re.findall(r"```python\n(.*?)```", PAGE, re.S)
OWN = {"loss": "poly", "optimizer": "SignSGD", "schedule": "root", "augment": "shade=0.2", "metric": "worst_class"}


@pytest.mark.parametrize("setting", OWN)
def test_each_part_runs(tmp_path, monkeypatch, setting):
    monkeypatch.setattr(report, "draw", lambda *_: [])
    (tmp_path / "parts.py").write_text(PARTS)
    part = f"{tmp_path / 'parts.py'}:{OWN[setting]}"
    run = api.run("mlp", **{setting: part}, lr=1e-3, epochs=1, limit=60, runs=tmp_path / "runs", quiet=True)
    assert OWN[setting] in run.folder.joinpath("recipe.toml").read_text()


def test_the_classifier(capsys):
    exec(CLASSIFIER, {})
    assert float(capsys.readouterr().out) > 0.5

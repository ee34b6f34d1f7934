"""The examples of docs/extend.md, run as they stand there."""

import re
from pathlib import Path

from replab import api
from replab.report import write as report

PAGE = (Path(__file__).parents[2] / "docs" / "extend.md").read_text()
PARTS, CLASSIFIER = re.findall(r"```python\n(.*?)```", PAGE, re.S)
OWN = {"loss": "poly", "optimizer": "SignSGD", "schedule": "root", "augment": "shade=0.2", "metric": "worst_class"}


def test_all_parts_run(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "draw", lambda *_: [])
    (tmp_path / "parts.py").write_text(PARTS)
    parts = {setting: f"{tmp_path / 'parts.py'}:{name}" for setting, name in OWN.items()}
    run = api.run("mlp", **parts, lr=1e-3, epochs=1, limit=60, runs=tmp_path / "runs", quiet=True)
    recipe = run.folder.joinpath("recipe.toml").read_text()
    assert all(name in recipe for name in OWN.values())
    assert 0 <= run.metrics["worst_class"] <= 1


def test_the_classifier(capsys):
    exec(CLASSIFIER, {})
    assert float(capsys.readouterr().out) > 0.5

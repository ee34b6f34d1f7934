"""docs/api.md is what the docstrings say, and functions show the keywords they take."""

import importlib.util
import inspect
from pathlib import Path

import replab

ROOT = Path(__file__).parents[1]


def test_the_page_is_up_to_date():
    spec = importlib.util.spec_from_file_location("api_reference", ROOT / "tools/api_reference.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert (ROOT / "docs/api.md").read_text() == tool.page(), "run python tools/api_reference.py"


def test_run_and_compare_show_real_keywords():
    for function in (replab.run, replab.compare):
        parameters = inspect.signature(function).parameters
        assert {"recipe", "fast", "trials", "lr", "epochs", "augment", "seed", "track", "search"} <= set(parameters)
        assert not [p for p in parameters.values() if p.kind is p.VAR_KEYWORD]
        assert parameters["batch_size"].default == 128
        assert parameters["lr"].annotation == "float | None"
    assert "model" not in inspect.signature(replab.compare).parameters
    assert list(inspect.signature(replab.run).parameters)[:2] == ["model", "data"]

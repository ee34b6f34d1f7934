"""Scripts written as tutorials write them: unmodified on torch and on mytorch, and the same results."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from mytorch.compat import run_script

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.py"))


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_same_results_on_both(path):
    ours, theirs = run_script(str(path)), runpy.run_path(str(path))
    assert len(ours["results"]) > 4
    loose = 1e-5 if path.stem == "classifier" else 1e-6  # the only one in float32
    np.testing.assert_allclose(ours["results"], theirs["results"], rtol=loose, atol=1e-12)
    assert ours.get("lines") == theirs.get("lines")

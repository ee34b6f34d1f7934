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
    ours = run_script(str(path))["results"]
    theirs = runpy.run_path(str(path))["results"]
    assert len(ours) > 4
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-12)

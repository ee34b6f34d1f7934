"""Denormal numbers are zero in a process that computes by torch, unless the user declines."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import torch
from replab.backends.backend import get
get("torch")
torch.set_num_threads(2)
print(int((torch.full((1 << 20,), 1e-38) * 0.1).count_nonzero()), float(torch.tensor(2e-38) * 1.0) > 0)
"""


@pytest.mark.parametrize(("keep", "left"), [("0", 0), ("1", 1 << 20)])
def test_in_all_threads(keep, left):
    env = os.environ | {"REPLAB_KEEP_DENORMALS": keep}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(left), "True"]

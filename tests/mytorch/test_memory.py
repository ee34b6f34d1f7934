"""Memory is kept by default on glibc, and left alone when told so."""

import os
import subprocess
import sys

STEPS = """
import resource, mytorch, numpy as np
from mytorch import memory

def step():
    return [np.ones(4 << 20, np.uint8) for _ in range(10)] and None

step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    step()
print(memory.is_kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def run(setting: str) -> tuple[str, int]:
    env = os.environ | {"MYTORCH_KEEP_MEMORY": setting}
    out = subprocess.run([sys.executable, "-c", STEPS], env=env, capture_output=True, text=True, check=True)
    kept, faults = out.stdout.split()
    return kept, int(faults)


def test_freed_arrays_are_not_faulted_in_again():
    kept, faults = run("1")
    assert kept == str(sys.platform.startswith("linux"))
    assert kept == "False" or faults < 50


def test_it_can_be_switched_off():
    assert run("0")[0] == "False"

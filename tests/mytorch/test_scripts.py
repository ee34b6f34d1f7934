"""Scripts written as tutorials write them: unmodified on torch and on mytorch, and the same results."""

import gzip
import runpy
import struct
from pathlib import Path

import numpy as np
import pytest
import torch

import mytorch
import replab.backends.torchvision_cpu  # noqa: F401  (a script's `import torchvision` then works without CUDA)
from mytorch.compat import run_script

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.py"))
DOUBLE = ("gan", "polynomial", "sequence", "transformer", "vae", "vae_distributions", "wgan_gp")  # in float64


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a few MNIST images, for scripts that read data/ and write files."""
    raw = tmp_path / "data" / "MNIST" / "raw"
    raw.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for part, count in (("train", 40), ("t10k", 20)):
        images = (rng.random((count, 28, 28)) * 255).astype(np.uint8)
        for kind, array in (("images-idx3", images), ("labels-idx1", (np.arange(count) % 10).astype(np.uint8))):
            header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
            (raw / f"{part}-{kind}-ubyte").write_bytes(header + array.tobytes())
            (raw / f"{part}-{kind}-ubyte.gz").write_bytes(gzip.compress(header + array.tobytes()))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    torch.set_default_dtype(torch.float32)
    mytorch.set_default_dtype(mytorch.float32)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_same_results_on_both(path, folder):
    ours = run_script(str(path))
    mytorch.set_default_dtype(mytorch.float32)
    theirs = runpy.run_path(str(path), run_name="__main__")
    assert len(ours["results"]) > 4
    loose, floor = (1e-6, 1e-12) if path.stem in DOUBLE else (2e-3, 1e-5)
    np.testing.assert_allclose(ours["results"], theirs["results"], rtol=loose, atol=floor)
    assert ours.get("lines") == theirs.get("lines")

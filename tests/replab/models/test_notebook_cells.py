"""Cells of notebooks, saved as a file as they are: torchvision, a device, a builder without arguments, and more."""

import gc
import subprocess
import sys
from textwrap import dedent

import pytest

from replab.backends import backend, user_file
from replab.errors import ModelError
from replab.models import loader

CELLS = """
import torch
import torchvision
from torch import nn
from torch.nn import functional as F
from torchvision import transforms

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1)
        self.fc1 = nn.Linear(6 * 4 * 4, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        return self.fc1(x.view(-1, 6 * 4 * 4))

def get_model_on_device():
    return Net().to(device)
"""
PREPARE = """
import sys
from replab import api
experiment = api.prepare(sys.argv[1], lr=1e-3, epochs=1, limit=60)  # imported, built and tried on a batch
print(type(experiment.model()).__name__)
"""


@pytest.mark.parametrize("text", [CELLS, "from cells import *\n"], ids=["cells", "by way of a neighbour"])
def test_cells_run_unchanged_on_a_torch_that_was_not_helped(tmp_path, text):
    """In a process of its own, where nothing has imported torchvision."""
    (tmp_path / "cells.py").write_text(CELLS)
    (tmp_path / "more.py").write_text(text)
    words = [sys.executable, "-c", PREPARE, f"{tmp_path / 'more.py'}:get_model_on_device"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.strip() == "Net", done.stderr


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(user_file, "_roots", [])


@pytest.mark.parametrize("lib", ["torch", "mytorch"])
def test_cells_on_both_backends(tmp_path, lib):
    (tmp_path / "cells.py").write_text(CELLS)
    source = loader.find(f"{tmp_path / 'cells.py'}:get_model_on_device", backend.get(lib))
    from replab.data.images import ImageSpec

    model = loader.build(source, ImageSpec(1, 8, 8, 10), {}, backend.get(lib))
    assert type(model).__name__ == "Net"


@pytest.mark.parametrize(
    ("cell", "line"),
    [
        ("train_set = torchvision.datasets.MNIST('nowhere', train=True, download=False)", 24),
        ("from tqdm.notebook import tqdm\nfor step in tqdm(range(3)):\n    pass", 25),
        ("model = get_model_on_device()\nmodel.load_state_dict(torch.load('best.pth'))", 25),
        ("%matplotlib inline", 24),
    ],
)
def test_a_cell_that_cannot_run_is_refused_with_its_line(tmp_path, cell, line):
    (tmp_path / "cells.py").write_text(CELLS + "\n" + cell + "\n")
    with pytest.raises(ModelError, match=rf"cells.py does not import: .*\(line {line}\)") as caught:
        loader.find(f"{tmp_path / 'cells.py'}:get_model_on_device", backend.get("torch"))
    assert "\n" not in str(caught.value)
    del caught
    gc.collect()  # tqdm's half-made bar complains when it goes: not in the middle of another test's import


def test_a_cell_that_loads_data_runs_where_the_data_is_there(tmp_path, monkeypatch):
    import numpy as np
    from PIL import Image

    for name in "ab":
        (tmp_path / "pictures" / name).mkdir(parents=True)
        Image.fromarray(np.zeros((8, 8), np.uint8)).save(tmp_path / "pictures" / name / "0.png")
    monkeypatch.chdir(tmp_path)
    more = """
        data = torchvision.datasets.ImageFolder("pictures", transform)
        loader = torch.utils.data.DataLoader(data, batch_size=2, shuffle=True)
        for x, y in loader:
            print(x.shape)
    """
    (tmp_path / "cells.py").write_text(CELLS + dedent(more))
    assert loader.find(f"{tmp_path / 'cells.py'}:get_model_on_device", backend.get("torch")).function().fc1

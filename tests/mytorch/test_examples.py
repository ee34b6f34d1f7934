"""The example scripts: on mytorch from start to end, and the same numbers as on torch."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from test_datasets import write_mnist

import mytorch
from mytorch.compat import import_as_torch, run_script

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def tiny(tmp_path):
    write_mnist(tmp_path, counts=(("train", 12), ("t10k", 5)))
    return tmp_path


def test_trains_saves_and_is_evaluated_again(tiny, capsys):
    saved = tiny / "mnist.pt"
    options = ["--data", str(tiny), "--epochs", "2", "--batch-size", "4", "--log-interval", "2", "--no-accel"]
    run_script(str(EXAMPLES / "mnist.py"), [*options, "--save-model", str(saved)])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" loss")[0] for line in lines if line.startswith("epoch")] == [
        "epoch 1 [0/12]",
        "epoch 1 [8/12]",
        "epoch 2 [0/12]",
        "epoch 2 [8/12]",
    ]
    last = lines[-1].partition("accuracy ")[2]  # 2/5 (40.00%)
    run_script(str(EXAMPLES / "evaluate_saved.py"), [str(saved), "--data", str(tiny)])
    assert capsys.readouterr().out == f"test accuracy {last.partition('(')[2].rstrip(')')}\n"
    assert "mnist" not in sys.modules


def test_dry_run_takes_one_batch(tiny, capsys):
    options = ["--data", str(tiny), "--epochs", "1", "--batch-size", "4", "--log-interval", "1", "--dry-run"]
    run_script(str(EXAMPLES / "mnist.py"), options)
    assert sum(line.startswith("epoch") for line in capsys.readouterr().out.splitlines()) == 1


def on_torch(monkeypatch):
    """The example's module on real torch. Its torchvision is an empty stand-in: on a machine without a GPU the
    real one need not import, and the net does not use it."""
    stand_in = ModuleType("torchvision")
    stand_in.datasets = stand_in.transforms = None
    monkeypatch.setitem(sys.modules, "torchvision", stand_in)
    spec = importlib.util.spec_from_file_location("mnist_on_torch", EXAMPLES / "mnist.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_net_trains_to_torchs_numbers(monkeypatch):
    theirs = on_torch(monkeypatch).Net().double().eval()  # eval: dropout's draws are each library's own
    ours = import_as_torch(EXAMPLES / "mnist.py").Net().double().eval()
    ours.load_state_dict(theirs.state_dict())
    rng = np.random.default_rng(0)
    losses = {}
    batches = [(rng.normal(size=(8, 1, 28, 28)), rng.integers(0, 10, 8)) for _ in range(4)]
    for lib, model in ((mytorch, ours), (torch, theirs)):
        optimizer = lib.optim.Adadelta(model.parameters(), lr=1.0)
        scheduler = lib.optim.lr_scheduler.StepLR(optimizer, 1, 0.7)
        losses[lib] = []
        for images, labels in batches:
            optimizer.zero_grad()
            loss = lib.nn.functional.nll_loss(model(lib.from_numpy(images)), lib.from_numpy(labels))
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses[lib].append(loss.item())
    np.testing.assert_allclose(losses[mytorch], losses[torch], rtol=1e-6)

"""--compile: asked of torch in place, refused where it cannot work."""

import os
import shutil
import subprocess
import sys
from functools import partial

import pytest
import torch
from torch import nn

from replab.backends import compiler
from replab.errors import RecipeError
from replab.settings.recipe import Recipe
from replab.training.prepare import prepare


def test_the_model_is_compiled_in_place_and_only_when_asked(monkeypatch):
    compiled = []
    monkeypatch.setattr(compiler, "compile_in_place", compiled.append)
    monkeypatch.setattr(shutil, "which", lambda name: name)
    prepare(Recipe(model="mlp", limit=40))
    assert not compiled
    ready = prepare(Recipe(model="mlp", limit=40, compile=True))
    model = ready.model()
    assert compiled[-1] is model


@pytest.fixture
def graphs(monkeypatch):
    """What the compiler is given, which is then computed as it is: no C++ compiler is needed."""
    seen = []

    def keep(graph, inputs):
        seen.append(graph)
        return graph.forward

    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=keep))
    yield seen
    torch._dynamo.reset()


def test_a_sequence_of_layers_is_compiled_as_one(graphs):
    model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))
    x = torch.randn(3, 4)
    right, names = model(x), list(model.state_dict())
    compiler.compile_in_place(model)
    assert torch.equal(model(x), right)
    assert list(model.state_dict()) == names
    assert len(graphs) == 1
    assert len([node for node in graphs[0].graph.nodes if node.op == "call_function"]) == 3


PRODUCTS = """
import torch
from replab.backends import backend, compiler
backend.get("torch")
import torch._dynamo
compiler.leave_products_alone()
graphs = []
model = torch.nn.Sequential(torch.nn.Linear(128, 128))
model.compile(backend=lambda graph, inputs: graphs.append(graph) or graph.forward)
model(torch.randn(128, 128)).sum().backward()
print(len(graphs))
"""


def test_products_by_onednn_are_not_compiled():
    env = os.environ | {"REPLAB_ONEDNN_PRODUCTS": "1"}
    done = subprocess.run([sys.executable, "-c", PRODUCTS], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0"]


def test_refusals(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(RecipeError, match=r"--compile needs a C\+\+ compiler"):
        prepare(Recipe(model="mlp", limit=40, compile=True))
    with pytest.raises(RecipeError, match="mytorch does not support --compile"):
        Recipe(compile=True, backend="mytorch")

"""--compile: asked of torch in place, refused where it cannot work."""

import shutil

import pytest
from torch import nn

from replab.errors import RecipeError
from replab.settings.recipe import Recipe
from replab.training.prepare import prepare


def test_the_model_is_compiled_in_place_and_only_when_asked(monkeypatch):
    compiled = []
    monkeypatch.setattr(nn.Module, "compile", lambda self: compiled.append(self))
    monkeypatch.setattr(shutil, "which", lambda name: name)
    prepare(Recipe(model="mlp", limit=40))
    assert not compiled
    ready = prepare(Recipe(model="mlp", limit=40, compile=True))
    model = ready.model()
    assert compiled[-1] is model


def test_refusals(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(RecipeError, match=r"--compile needs a C\+\+ compiler"):
        prepare(Recipe(model="mlp", limit=40, compile=True))
    with pytest.raises(RecipeError, match="mytorch does not support --compile"):
        Recipe(compile=True, backend="mytorch")

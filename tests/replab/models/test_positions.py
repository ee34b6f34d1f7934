"""nanovit's positions: learned, or fixed by hand-checked sines and cosines; on both backends."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from replab import api
from replab.data.images import ImageSpec
from replab.errors import ModelError
from replab.models.parts.patches import grid_positions, line_positions
from replab.models.zoo.nanovit import nanovit

IMAGE = ImageSpec(1, 8, 8, 10)
SMALL = {"patch": 4, "width": 16, "depth": 1, "heads": 2, "ffn": 16}


def test_fixed_positions_by_hand():
    line = line_positions(2, 3, 4)  # rates 1 and 1/100
    assert line.shape == (6, 4)
    assert line[5] == pytest.approx([math.sin(5), math.sin(0.05), math.cos(5), math.cos(0.05)])
    grid = grid_positions(2, 3, 4)  # patch 5 is in row 1, column 2; one rate each
    assert grid[5] == pytest.approx([math.sin(1), math.cos(1), math.sin(2), math.cos(2)])
    assert len(np.unique(grid.round(6), axis=0)) == 6


@pytest.mark.parametrize("positions", ["1d", "2d"])
def test_fixed_positions_are_not_learned_and_travel_with_the_weights(positions):
    model, learned = nanovit(IMAGE, positions=positions, **SMALL), nanovit(IMAGE, **SMALL)
    gone = sum(p.numel() for p in learned.parameters()) - sum(p.numel() for p in model.parameters())
    assert gone == 5 * 16  # 4 patches and the CLS token
    assert model.tokens.positions.shape == (1, 5, 16)
    assert not model.tokens.positions[0, 0].any()  # CLS has no place
    assert "tokens.positions" in model.state_dict()
    assert model(torch.randn(2, 1, 8, 8)).shape == (2, 10)


@pytest.mark.parametrize("backend", ["torch", "mytorch"])
def test_they_train(backend, tmp_path):
    params = {**SMALL, "positions": "2d"}
    run = api.run("nanovit", params=params, backend=backend, limit=60, lr=1e-3, epochs=1, runs=tmp_path, quiet=True)
    assert run.finished


def test_what_does_not_fit_is_refused():
    with pytest.raises(ModelError, match="positions to be one of learned, 1d, 2d, got '3d'"):
        nanovit(IMAGE, positions="3d", **SMALL)
    with pytest.raises(ModelError, match="a width that 4 divides, got 18"):
        nanovit(IMAGE, positions="1d", **{**SMALL, "width": 18})

"""MultiheadAttention and the encoder with every kind of mask, beside torch's."""

import numpy as np
import pytest
import torch
from oracle import compare
from test_layers import LAYERS, pair, same_step

import mytorch

MASKS = {
    "none": {},
    "bool": {"attn_mask": lambda lib: lib.tensor(np.triu(np.ones((4, 4), bool), 1))},
    "float": {"attn_mask": lambda lib: lib.tensor(np.linspace(-1, 1, 16).reshape(4, 4))},
    "heads": {"attn_mask": lambda lib: lib.tensor(np.linspace(-1, 1, 96).reshape(6, 4, 4))},
    "padding": {"key_padding_mask": lambda lib: lib.tensor([[False] * 4, [False, True, True, False]])},
    "both": {
        "attn_mask": lambda lib: lib.tensor(np.triu(np.ones((4, 4), bool), 1)),
        "key_padding_mask": lambda lib: lib.tensor([[False] * 4, [False, True, True, False]]),
    },
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
def test_attention(mask, need_weights, batch_first):
    ours, theirs = pair(lambda nn: nn.MultiheadAttention(6, 3, batch_first=batch_first))
    rng = np.random.default_rng(2)
    shape = (2, 4, 6) if batch_first else (4, 2, 6)
    arrays = [rng.normal(size=shape) for _ in range(3)]
    settings = {"need_weights": lambda lib: need_weights, **MASKS[mask]}
    same_step(ours, theirs, arrays, 1e-8, **settings)


@pytest.mark.parametrize("average", [True, False])
def test_self_attention_and_its_weights(average):
    ours, theirs = pair(lambda nn: nn.MultiheadAttention(6, 2, bias=False, batch_first=True))
    x = np.random.default_rng(2).normal(size=(2, 4, 6))
    for lib, model in ((mytorch, ours), (torch, theirs)):
        t = lib.from_numpy(x)
        model.results = model(t, t, t, average_attn_weights=average)
        model.plain = model(t, t, t, need_weights=False)[0]
        model.alone = model(t[0], t[0], t[0], average_attn_weights=average)
    for what in ("results", "plain", "alone"):
        compare(getattr(ours, what), getattr(theirs, what), 1e-8, 1e-8, what)


def test_attention_over_other_widths():
    ours, theirs = pair(lambda nn: nn.MultiheadAttention(6, 2, kdim=5, vdim=4))
    rng = np.random.default_rng(2)
    same_step(
        ours,
        theirs,
        [rng.normal(size=(3, 2, 6)), rng.normal(size=(4, 2, 5)), rng.normal(size=(4, 2, 4))],
        1e-8,
    )


def test_encoder_masks():
    build = LAYERS["encoder"][0]
    ours, theirs = pair(build)
    x = np.random.default_rng(2).normal(size=(2, 4, 6))
    mask = {"mask": MASKS["bool"]["attn_mask"], "src_key_padding_mask": MASKS["padding"]["key_padding_mask"]}
    for lib, model in ((mytorch, ours), (torch, theirs)):
        model.out = model(lib.from_numpy(x), **{name: make(lib) for name, make in mask.items()})
    compare(ours.out, theirs.out, 1e-8, 1e-8, "output")

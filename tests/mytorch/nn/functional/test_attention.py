"""Attention against torch: masks of both kinds, causal, packed and separate projections, weights, dropout."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import check, gradcheck, layouts

import mytorch

small = st.integers(1, 4)


@settings(max_examples=20, deadline=None)
@given(
    lead=st.lists(st.integers(1, 3), max_size=2),
    length=small,
    source=small,
    width=small,
    out=small,
    mask=st.sampled_from(["none", "bool", "float", "causal"]),
    scale=st.none() | st.just(0.7),
    layout=layouts,
)
def test_scaled_dot_product_attention(lead, length, source, width, out, mask, scale, layout):
    allowed = np.random.default_rng(0).random((length, source)) < 0.6
    allowed[:, 0] = True

    def fn(t, q, k, v, m, allowed):
        chosen = {"bool": allowed, "float": m}.get(mask)
        return t.nn.functional.scaled_dot_product_attention(q, k, v, chosen, is_causal=mask == "causal", scale=scale)

    shapes = [(*lead, length, width), (*lead, source, width), (*lead, source, out), (length, source)]
    if mask == "float":
        check(fn, *shapes, allowed, layout=layout)
    else:
        check(lambda t, q, k, v, a: fn(t, q, k, v, None, a), *shapes[:3], allowed, layout=layout)


def test_a_row_with_everything_masked_is_zero():
    q = mytorch.ones(1, 2, 3, requires_grad=True)
    mask = mytorch.tensor([[True, False], [False, False]])
    out = mytorch.nn.functional.scaled_dot_product_attention(q, mytorch.ones(1, 2, 3), mytorch.ones(1, 2, 3), mask)
    np.testing.assert_allclose(out.detach().numpy()[0], [[1, 1, 1], [0, 0, 0]])
    out.sum().backward()
    assert np.isfinite(q.grad.numpy()).all()


@pytest.mark.parametrize("size", [1.0, 40.0, 300.0])
@pytest.mark.parametrize("mask", [None, "causal", "bool", "float"])
def test_moderate_and_large_scores(size, mask):
    """The largest score of a row is taken off only where it must be."""
    allowed = np.array([[True, False, True], [False, True, True]])
    added = np.where(allowed, 0.5, -1e9).astype(np.float32)
    chosen = {"bool": allowed, "float": added}.get(mask)

    def fn(t, q, k, v, *m):
        return t.nn.functional.scaled_dot_product_attention(q * -size, k, v, *m, is_causal=mask == "causal")

    check(fn, (4, 2, 3), (4, 3, 3), (4, 3, 2), *([] if chosen is None else [chosen]), dtype="float32", atol=1e-3)


def test_huge_scores_are_safe():
    x = np.array([[[100.0, -100.0], [-100.0, 100.0]]])
    check(lambda t, x: t.nn.functional.scaled_dot_product_attention(x, x, x), x)


def heads(need_weights=False, average=True, masks=False, batched=True):
    def fn(t, q, k, w, b, ow, ob, hidden, blocked):
        both = {"key_padding_mask": hidden, "attn_mask": blocked} if masks else {}
        key = q if k is None else k
        return t.nn.functional.multi_head_attention_forward(
            q, key, key, 6, 2, w, b, None, None, False, 0.0, ow, ob,
            need_weights=need_weights, average_attn_weights=average, **both,
        )[: 1 + need_weights]  # fmt: skip

    return fn


HIDDEN = np.array([[False, False, True, False], [False, False, False, True], [False] * 4])
BLOCKED = np.triu(np.ones((4, 4), bool), 1)
PROJECTIONS = [(18, 6), (18,), (6, 6), (6,)]


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("masks", [False, True])
def test_self_attention(need_weights, masks):
    fn = heads(need_weights, masks=masks)
    check(lambda t, q, *rest: fn(t, q, None, *rest), (4, 3, 6), *PROJECTIONS, HIDDEN, BLOCKED)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("average", [False, True])
def test_attention_to_another_sequence(need_weights, average):
    check(heads(need_weights, average), (4, 3, 6), (5, 3, 6), *PROJECTIONS, HIDDEN, BLOCKED)


def test_a_single_sequence():
    fn = heads(need_weights=True)
    check(lambda t, q, *rest: fn(t, q, None, *rest), (4, 6), *PROJECTIONS, HIDDEN, BLOCKED)


def test_a_float_mask_gets_a_gradient():
    def fn(t, x, w, b, ow, ob, mask):
        return t.nn.functional.multi_head_attention_forward(
            x, x, x, 6, 2, w, b, None, None, False, 0.0, ow, ob, need_weights=False, attn_mask=mask
        )[0]

    check(fn, (4, 3, 6), *PROJECTIONS, (4, 4))


def test_separate_projections():
    def fn(t, q, k, v, wq, wk, wv, b, ow, ob):
        return t.nn.functional.multi_head_attention_forward(
            q, k, v, 6, 2, None, b, None, None, False, 0.0, ow, ob, need_weights=False,
            use_separate_proj_weight=True, q_proj_weight=wq, k_proj_weight=wk, v_proj_weight=wv,
        )[0]  # fmt: skip

    check(fn, (4, 2, 6), (5, 2, 3), (5, 2, 4), (6, 6), (6, 3), (6, 4), (18,), (6, 6), (6,))


def test_dropout_keeps_the_mean_and_the_gradient_follows_it():
    mytorch.manual_seed(0)
    q = mytorch.zeros(1, 1, 8)
    k = mytorch.zeros(1, 400, 8)
    v = mytorch.ones(1, 400, 8, requires_grad=True)
    out = mytorch.nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=0.25)
    assert abs(out.detach().numpy().mean() - 1) < 0.15
    out.sum().backward()
    shares = np.unique(np.round(v.grad.numpy() * 400, 4))
    np.testing.assert_allclose(shares, [0, 1 / 0.75], rtol=1e-3)


def test_errors():
    for lib in (torch, mytorch):
        x = lib.ones(1, 2, 4)
        with pytest.raises(RuntimeError, match="attn_mask"):
            lib.nn.functional.scaled_dot_product_attention(x, x, x, lib.ones(2, 2) > 0, is_causal=True)


def test_query_heads_may_share_keys():
    def fn(t, q, k, v):
        return t.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)

    check(fn, (2, 4, 3, 2), (2, 2, 5, 2), (2, 2, 5, 2))


def test_numerical_gradients():
    def fn(q, k, v):
        return mytorch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    gradcheck(fn, (2, 3, 2), (2, 3, 2), (2, 3, 4))

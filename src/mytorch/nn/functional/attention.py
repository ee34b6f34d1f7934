"""Attention: softmax(q kᵀ / √d + mask) v as one recorded operation, and multi-head attention around it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mytorch.autograd import record, spelled_out
from mytorch.ops.broadcast import unbroadcast
from mytorch.ops.shape import cat
from mytorch.ops.softmax import softmax
from mytorch.parallel import in_pieces
from mytorch.tensor import Tensor

from .dropout import dropout, keep_mask
from .linear import linear
from .pad import pad

__all__ = ["multi_head_attention", "multi_head_attention_forward", "scaled_dot_product_attention"]

_MODERATE = 30  # of scores up to this, and down to its opposite, exponentials and their sums suit a float32


class _Attention:
    """Forward and backward on arrays q (..., L, d), k (..., S, d), v (..., S, e)."""

    def __init__(
        self,
        q: np.ndarray,
        k: np.ndarray,
        v: np.ndarray,
        scale: float,
        mask: np.ndarray | None = None,
        keep: np.ndarray | None = None,
        gain: float = 1.0,
    ):
        self.q, self.k, self.v, self.scale = q, k, v, scale
        self.keep, self.gain = keep, gain  # dropout: which weights stay, and by how much they grow
        scores = q @ k.swapaxes(-1, -2)  # (..., L, S)
        scores *= scale
        self.weights = _softmax(scores, mask)

    def used(self) -> np.ndarray:
        """The weights after dropout."""
        return self.weights if self.keep is None else self.weights * self.keep * self.gain

    def forward(self, out: np.ndarray | None = None) -> np.ndarray:
        return np.matmul(self.used(), self.v, out=out)

    def backward(self, g: np.ndarray, gq: np.ndarray, gk: np.ndarray, gv: np.ndarray) -> np.ndarray:
        """Writes the gradients of q, k and v; gives that of the scores, which is also a float mask's."""
        np.matmul(self.used().swapaxes(-1, -2), g, out=gv)
        gs = g @ self.v.swapaxes(-1, -2)  # (..., L, S)
        if self.keep is not None:
            gs *= self.keep
            gs *= self.gain
        gs -= np.vecdot(gs, self.weights)[..., None]  # softmax's own backward
        gs *= self.weights
        np.matmul(gs, self.k, out=gq)
        np.matmul(gs.swapaxes(-1, -2), self.q, out=gk)
        gq *= self.scale
        gk *= self.scale
        return gs


def _softmax(scores: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
    """softmax along the last dim, in place if it can be; a mask is True where one may look, or added to the scores.

    Rows where everything is masked become zeros, as in torch's attention, not nan.
    """
    # Without the largest of its row taken off, a score's exponential may be too large or too small for its type. Of
    # moderate scores none is, and to look at all of them at once is faster than row by row.
    plain = scores.size and scores.itemsize > 2 and (mask is None or mask.dtype == bool)
    moderate = plain and scores.max() < _MODERATE and scores.min() > -_MODERATE
    if mask is not None:
        hidden = np.where(mask, 0, -np.inf).astype(scores.dtype) if mask.dtype == bool else mask
        whole = np.broadcast_shapes(scores.shape, hidden.shape)
        scores = np.add(scores, hidden, out=scores if whole == scores.shape else None)
    if scores.size and not moderate:
        top = scores.max(-1, keepdims=True)
        top[np.isneginf(top)] = 0
        scores -= top
    np.exp(scores, out=scores)
    total = scores @ np.ones((scores.shape[-1], 1), scores.dtype)
    total[total == 0] = 1
    scores /= total
    return scores


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """query (..., L, d), key (..., S, d), value (..., S, e) -> (..., L, e).

    A bool mask is True where one may look; a float mask is added to the scores.
    """
    if enable_gqa:  # several query heads share one head of key and value
        key, value = (t.repeat_interleave(query.shape[-3] // t.shape[-3], -3) for t in (key, value))
    q, k, v = query._array, key._array, value._array
    mask = None if attn_mask is None else attn_mask._array
    if is_causal:
        if mask is not None:
            raise RuntimeError("scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
        mask = np.tri(q.shape[-2], k.shape[-2], dtype=bool)
    lead = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2], () if mask is None else mask.shape[:-2])
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    kernel = _Attention(q, k, v, scale, mask, *_dropped((*lead, q.shape[-2], k.shape[-2]), dropout_p))
    shapes = [(*lead, *a.shape[-2:]) for a in (q, k, v)]

    def attention_backward(g: np.ndarray, *_: np.ndarray) -> tuple[np.ndarray | None, ...]:
        gq, gk, gv = (np.empty(shape, g.dtype) for shape in shapes)
        gs = kernel.backward(g, gq, gk, gv)
        grads = [unbroadcast(part, a.shape) for part, a in ((gq, q), (gk, k), (gv, v))]
        if learnt is not None:
            grads.append(unbroadcast(gs, learnt.shape))
        return tuple(grads)

    parents = [query, key, value]
    learnt = attn_mask if attn_mask is not None and attn_mask._array.dtype != bool else None
    if learnt is not None:
        parents.append(learnt)
    hidden = None if mask is None or learnt is not None else Tensor(~mask if mask.dtype == bool else mask)

    def plainly(q: Tensor, k: Tensor, v: Tensor, *added: Tensor) -> Tensor:
        return _plain_attention(q, k, v, scale, added[0] if added else hidden, kernel)

    return record(kernel.forward(), parents, attention_backward, parents, again=spelled_out(plainly))


def _plain_attention(q: Tensor, k: Tensor, v: Tensor, scale: float, mask: Tensor | None, kernel: _Attention) -> Tensor:
    """The same with tensor operations; a bool mask is True where one may NOT look."""
    scores = q.matmul(k.transpose(-2, -1)) * scale
    if mask is not None:
        scores = scores.masked_fill(mask, -math.inf) if mask._array.dtype == bool else scores + mask
    weights = softmax(scores, -1)
    if mask is not None and np.isneginf(scores._array).any():
        weights = weights.masked_fill(Tensor(np.isneginf(scores._array).all(-1, keepdims=True)), 0.0)
    if kernel.keep is not None:
        weights = weights * Tensor(kernel.keep.astype(weights._array.dtype)) * kernel.gain
    return weights.matmul(v)


def _dropped(shape: tuple[int, ...], p: float) -> tuple[np.ndarray | None, float]:
    """Which attention weights dropout keeps, and what they are multiplied by."""
    return (keep_mask(shape, p), 1.0 / (1.0 - p) if p < 1 else 0.0) if p else (None, 1.0)


def _self_attention(packed: Tensor, heads: int, mask: np.ndarray | None, p: float) -> Tensor:
    """packed (N, L, 3E) holds q, k, v side by side -> (N, L, E). Heads are views: no copy in, none out."""
    n, length, width = packed.shape
    shape = (n, length, 3, heads, width // 3 // heads)
    scores = (n, heads, length, length)
    cost = 4 * n * heads * length * length * shape[-1]
    q, k, v = packed._array.reshape(shape).transpose(2, 0, 3, 1, 4)  # 3 x (N, heads, L, d)
    keep, gain = _dropped(scores, p)
    mask = None if mask is None else np.broadcast_to(mask, scores)
    out = np.empty((n, length, heads, shape[-1]), q.dtype)
    results = out.transpose(0, 2, 1, 3)

    def forward(some: slice) -> tuple[slice, _Attention]:
        shown, kept = (None if m is None else m[some] for m in (mask, keep))
        kernel = _Attention(q[some], k[some], v[some], 1 / math.sqrt(shape[-1]), shown, kept, gain)
        kernel.forward(results[some])
        return some, kernel

    kernels = in_pieces(forward, n, cost)  # samples do not meet each other

    def self_attention_backward(g: np.ndarray, *_: np.ndarray) -> tuple[np.ndarray]:
        grad = np.empty(shape, g.dtype)
        parts = grad.transpose(2, 0, 3, 1, 4)
        g = g.reshape(n, length, heads, shape[-1]).transpose(0, 2, 1, 3)

        def backward(which: slice) -> None:
            for some, kernel in kernels[which]:
                kernel.backward(g[some], *parts[:, some])

        in_pieces(backward, len(kernels), 2 * cost)
        return (grad.reshape(n, length, width),)

    def plainly(packed: Tensor) -> Tensor:
        q, k, v = packed.reshape(shape).permute(2, 0, 3, 1, 4).unbind(0)
        scores = q.matmul(k.transpose(-2, -1)) * (1 / math.sqrt(shape[-1]))
        weights = softmax(scores if mask is None else scores + Tensor(np.ascontiguousarray(mask)), -1)
        if keep is not None:
            weights = weights * Tensor(keep.astype(weights._array.dtype)) * gain
        return weights.matmul(v).transpose(1, 2).reshape(n, length, width // 3)

    result = out.reshape(n, length, width // 3)
    return record(result, (packed,), self_attention_backward, (packed,), again=spelled_out(plainly))


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """torch's function, sequence first: query (L, N, E) or (L, E), key and value (S, N, ...)."""
    if static_k is not None or static_v is not None:
        raise NotImplementedError("mytorch has no static_k and static_v in attention: give key and value instead")
    if query.shape[-1] != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {query.shape[-1]}")
    weights: Any = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight
    batched = query.ndim == 3
    same = query is key and key is value
    query = query.transpose(0, 1) if batched else query.unsqueeze(0)
    if same:
        key = value = query
    else:
        key, value = (t.transpose(0, 1) if batched else t.unsqueeze(0) for t in (key, value))
    if not batched and key_padding_mask is not None:
        key_padding_mask = key_padding_mask.unsqueeze(0)
    out, attention = multi_head_attention(
        query, key, value, num_heads, weights, in_proj_bias, out_proj_weight, out_proj_bias,
        dropout_p if training else 0.0, key_padding_mask, attn_mask, need_weights, average_attn_weights, bias_k, bias_v,
        add_zero_attn,
    )  # fmt: skip
    if batched:
        return out.transpose(0, 1), attention
    return out.squeeze(0), None if attention is None else attention.squeeze(0)


def multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    num_heads: int,
    in_weights: Any,
    in_bias: Tensor | None,
    out_weight: Tensor,
    out_bias: Tensor | None,
    dropout_p: float = 0.0,
    key_padding_mask: Tensor | None = None,
    attn_mask: Tensor | None = None,
    need_weights: bool = False,
    average_attn_weights: bool = True,
    bias_k: Tensor | None = None,
    bias_v: Tensor | None = None,
    add_zero_attn: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Batch first: query (N, L, E), key and value (N, S, ...) -> (N, L, E) and, if asked for, the weights.

    in_weights is (3E, E), or one matrix each for query, key and value. Masks are torch's: True (or -inf) is
    where one may NOT look; attn_mask (L, S) or (N*heads, L, S), key_padding_mask (N, S). bias_k and bias_v
    (1, 1, E) are one more key and value for every sample, add_zero_attn adds one of zeros; anyone may look there.
    """
    n, length, width = query.shape
    if width % num_heads:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    mask = _merged_mask(key_padding_mask, attn_mask, n, num_heads, query._array.dtype)
    more = int(bias_k is not None) + int(add_zero_attn)
    if mask is not None and more:
        mask = pad(mask, (0, more))
    same = query is key and key is value and isinstance(in_weights, Tensor) and not more
    if same and not need_weights and not (mask is not None and mask.requires_grad):
        shown = None if mask is None else mask._array
        out = _self_attention(linear(query, in_weights, in_bias), num_heads, shown, dropout_p)
        return linear(out, out_weight, out_bias), None
    matrices = in_weights.chunk(3) if isinstance(in_weights, Tensor) else in_weights
    biases = (None,) * 3 if in_bias is None else in_bias.chunk(3)
    projected = [linear(t, w, b) for t, w, b in zip((query, key, value), matrices, biases)]
    for i, extra in ((1, bias_k), (2, bias_v)):
        if extra is not None:
            projected[i] = cat([projected[i], extra.reshape(1, 1, -1).expand(n, 1, -1)], 1)
        if add_zero_attn:
            projected[i] = pad(projected[i], (0, 0, 0, 1))
    apart = (num_heads, width // num_heads)
    q, k, v = (t.reshape(n, t.shape[1], *apart).transpose(1, 2) for t in projected)  # (N, heads, L or S, d)
    attention = None
    if need_weights:
        scores = q.matmul(k.transpose(-2, -1)) * (1 / math.sqrt(width // num_heads))
        attention = softmax(scores if mask is None else scores + mask, -1)
        attention = dropout(attention, dropout_p)
        out = attention.matmul(v)
        if average_attn_weights:
            attention = attention.mean(1)
    else:
        out = scaled_dot_product_attention(q, k, v, mask, dropout_p)
    out = out.transpose(1, 2).reshape(n, length, width)
    return linear(out, out_weight, out_bias), attention


def _merged_mask(padding: Tensor | None, mask: Tensor | None, n: int, heads: int, dtype: np.dtype) -> Tensor | None:
    """Both of torch's masks as one of numbers to add to the scores, broadcasting to (N, heads, L, S)."""
    total = None
    if mask is not None:
        total = _additive(mask, dtype)
        total = total.reshape(n, heads, *total.shape[1:]) if total.ndim == 3 else total
    if padding is not None:
        columns = _additive(padding, dtype).unsqueeze(1).unsqueeze(1)  # (N, 1, 1, S)
        total = columns if total is None else total + columns
    return total


def _additive(mask: Tensor, dtype: np.dtype) -> Tensor:
    return Tensor(np.where(mask._array, -np.inf, 0.0).astype(dtype)) if mask._array.dtype == bool else mask

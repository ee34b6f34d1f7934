"""MultiheadAttention with torch's parameter names: one stacked input projection and out_proj."""

from __future__ import annotations

from typing import Any

from mytorch.creation import empty
from mytorch.nn import functional as F
from mytorch.nn import init
from mytorch.nn.parameter import Parameter
from mytorch.tensor import Tensor

from .linear import Linear
from .module import Module

__all__ = ["MultiheadAttention"]


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear under the name torch prints inside MultiheadAttention."""


class MultiheadAttention(Module):
    """softmax(Q Kᵀ / √head_dim + mask) V in num_heads slices of embed_dim."""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} "
                f"and num_heads={num_heads} instead"
            )
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.dropout, self.batch_first = dropout, batch_first
        stacked = self.kdim == embed_dim == self.vdim
        inputs = {"q": embed_dim, "k": self.kdim, "v": self.vdim}
        for part, width in inputs.items():
            weight = None if stacked else Parameter(empty((embed_dim, width), dtype=dtype))
            self.register_parameter(f"{part}_proj_weight", weight)
        whole = Parameter(empty((3 * embed_dim, embed_dim), dtype=dtype)) if stacked else None
        self.register_parameter("in_proj_weight", whole)
        offset = Parameter(empty((3 * embed_dim,), dtype=dtype)) if bias else None
        self.register_parameter("in_proj_bias", offset)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, dtype=dtype)
        for part in ("k", "v"):  # one more key and value for every sample
            more = Parameter(empty((1, 1, embed_dim), dtype=dtype)) if add_bias_kv else None
            self.register_parameter(f"bias_{part}", more)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _weights(self) -> Any:
        if self.in_proj_weight is not None:
            return self.in_proj_weight
        return self.q_proj_weight, self.k_proj_weight, self.v_proj_weight

    def _reset_parameters(self) -> None:
        weights = self._weights()
        for weight in weights if isinstance(weights, tuple) else (weights,):
            init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        if self.bias_k is not None:
            init.xavier_normal_(self.bias_k)
            init.xavier_normal_(self.bias_v)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Gives (output, attention weights or None). In boolean masks True means: not allowed to attend."""
        if is_causal and attn_mask is None:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        batched = query._array.ndim == 3
        turned = {id(input): self._batch_first(input, batched) for input in (query, key, value)}
        if not batched and key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
        output, weights = F.multi_head_attention(
            turned[id(query)],  # the same tensor three times stays one, which is self-attention's fast way
            turned[id(key)],
            turned[id(value)],
            self.num_heads,
            self._weights(),
            self.in_proj_bias,
            self.out_proj.weight,
            self.out_proj.bias,
            self.dropout if self.training else 0.0,
            key_padding_mask,
            attn_mask,
            need_weights,
            average_attn_weights,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
        )
        if not batched:
            return output.squeeze(0), None if weights is None else weights.squeeze(0)
        return (output if self.batch_first else output.transpose(0, 1)), weights

    def _batch_first(self, input: Tensor, batched: bool) -> Tensor:
        if not batched:
            return input.unsqueeze(0)
        return input if self.batch_first else input.transpose(0, 1)

"""Self-attention and the pre-norm encoder block by hand (Dosovitskiy et al. 2020, 2010.11929)."""

from torch import nn


class Attention(nn.Module):
    """Multi-head self-attention: softmax(Q K^T / sqrt(d)) V for each head, then one projection."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)

    def forward(self, tokens):
        weights, values = self.weights(tokens)
        mixed = weights @ values  # (B, heads, T, d)
        return self.project(mixed.transpose(1, 2).flatten(2))  # (B, T, width)

    def weights(self, tokens):
        """Who looks at whom, (B, heads, T, T) with rows that sum to 1, and the values (B, heads, T, d)."""
        batch, count, width = tokens.shape
        qkv = self.qkv(tokens).reshape(batch, count, 3, self.heads, width // self.heads)
        queries, keys, values = qkv.permute(2, 0, 3, 1, 4).unbind(0)  # each (B, heads, T, d)
        scale = (width // self.heads) ** -0.5
        return (queries @ keys.transpose(-2, -1) * scale).softmax(dim=-1), values


class EncoderBlock(nn.Module):
    """Pre-norm: x + dropout(attention(norm(x))), then x + dropout(mlp(norm(x)))."""

    def __init__(self, width: int, heads: int, ffn: int, dropout: float):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        # As published, the mlp ends in a dropout and the block drops its output again.
        self.mlp = nn.Sequential(
            nn.Linear(width, ffn), nn.GELU(), nn.Dropout(dropout), nn.Linear(ffn, width), nn.Dropout(dropout)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens):
        tokens = tokens + self.dropout(self.attention(self.norm1(tokens)))
        return tokens + self.dropout(self.mlp(self.norm2(tokens)))

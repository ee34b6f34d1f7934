"""Pre-norm ViT by hand (2010.11929). On MNIST (mnist-lab/vit): 205,962 parameters, 99 %."""

from torch import nn

from replab.data.images import ImageSpec
from replab.models.parts.attention import EncoderBlock
from replab.models.parts.patches import PatchTokens
from replab.models.registry import register
from replab.models.rules import fraction, heads_divide, multiple_of, whole


class ViT(nn.Module):
    def __init__(self, image: ImageSpec, patch: int, width: int, depth: int, heads: int, ffn: int, dropout: float):
        super().__init__()
        self.tokens = PatchTokens(image, patch, width, dropout, cls=True, start="normal")
        self.blocks = nn.Sequential(*(EncoderBlock(width, heads, ffn, dropout) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, image.classes)

    def forward(self, x):
        tokens = self.norm(self.blocks(self.tokens(x)))  # (B, 1 + patches, width)
        return self.head(tokens[:, 0])


@register
def vit_mnist(
    image: ImageSpec,
    *,
    patch: int = 7,
    width: int = 64,
    depth: int = 6,
    heads: int = 8,
    ffn: int = 128,
    dropout: float = 0.2,
) -> nn.Module:
    multiple_of("vit-mnist", image, whole("vit-mnist", "patch", patch))
    heads_divide("vit-mnist", heads, width)
    whole("vit-mnist", "depth", depth)
    whole("vit-mnist", "ffn", ffn)
    fraction("vit-mnist", "dropout", dropout)
    return ViT(image, patch, width, depth, heads, ffn, dropout)

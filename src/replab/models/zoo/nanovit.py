"""Small ViT (2010.11929), post-norm. On CIFAR-10 (notes/nanovit-p4): 1,212,490 parameters, 69.90 %.

The notes draw it pre-norm and code PyTorch's default layer, which is post-norm; `norm_first=True` is the
drawing. `positions` are learned, or fixed sines and cosines of the patch's number (1d) or row and column (2d).
"""

from torch import nn

from replab.data.images import ImageSpec
from replab.errors import ModelError
from replab.models.parts.patches import PatchTokens
from replab.models.registry import register
from replab.models.rules import fraction, heads_divide, multiple_of, one_of, switch, whole


class NanoViT(nn.Module):
    def __init__(
        self,
        image: ImageSpec,
        patch: int,
        width: int,
        depth: int,
        heads: int,
        ffn: int,
        dropout: float,
        norm_first: bool,
        positions: str,
    ):
        super().__init__()
        self.tokens = PatchTokens(image, patch, width, dropout, cls=True, start="zeros", positions=positions)
        layer = nn.TransformerEncoderLayer(width, heads, ffn, dropout, batch_first=True, norm_first=norm_first)
        # It copies the layer, so all start with equal weights. Without nested tensors, pre-norm gives no warning.
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, image.classes)

    def forward(self, x):
        tokens = self.encoder(self.tokens(x))  # (B, 1 + patches, width)
        return self.head(self.norm(tokens[:, 0]))


@register
def nanovit(
    image: ImageSpec,
    *,
    patch: int = 4,
    width: int = 192,
    depth: int = 4,
    heads: int = 8,
    ffn: int = 384,
    dropout: float = 0.1,
    norm_first: bool = False,
    positions: str = "learned",
) -> nn.Module:
    multiple_of("nanovit", image, whole("nanovit", "patch", patch))
    heads_divide("nanovit", heads, width)
    whole("nanovit", "depth", depth)
    whole("nanovit", "ffn", ffn)
    fraction("nanovit", "dropout", dropout)
    switch("nanovit", "norm_first", norm_first)
    one_of("nanovit", "positions", positions, ("learned", "1d", "2d"))
    if positions != "learned" and width % 4:
        raise ModelError(f"nanovit: fixed positions need a width that 4 divides, got {width}; --set width=192")
    return NanoViT(image, patch, width, depth, heads, ffn, dropout, norm_first, positions)

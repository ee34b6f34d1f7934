"""BatchNorm folded into the convolution before it: for inference, the same function in fewer passes over memory."""

from __future__ import annotations

import copy
import itertools
from collections import Counter

from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from replab.models.adapt import fusing


def folded(model: nn.Module) -> nn.Module:
    """A copy in eval mode; neighbours of an nn.Sequential are folded, and what stands elsewhere or twice stays."""
    model = copy.deepcopy(model).eval()
    places = Counter(id(module) for _, module in model.named_modules(remove_duplicate=False))
    for parent in list(model.modules()):
        if type(parent) not in (nn.Sequential, fusing.Sequential):
            continue
        for i, (conv, norm) in enumerate(itertools.pairwise(list(parent))):
            plain = type(conv) is nn.Conv2d and type(norm) is nn.BatchNorm2d and norm.track_running_stats
            if plain and places[id(conv)] == places[id(norm)] == 1:
                parent[i], parent[i + 1] = fuse_conv_bn_eval(conv, norm), nn.Identity()
    return model

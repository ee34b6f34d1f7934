"""AdaptiveLogSoftmaxWithLoss: frequent classes in a head, rare ones in smaller clusters (arxiv.org/abs/1609.04309)."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from mytorch.creation import zeros
from mytorch.nn import functional as F
from mytorch.ops.combine import cat
from mytorch.tensor import Tensor

from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """The head knows the classes below cutoffs[0] and one more per cluster, which is asked for its own rows only."""

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        whole = all(int(each) == each for each in cutoffs)
        if not whole or cutoffs != sorted(set(cutoffs)) or not 0 < cutoffs[0] <= cutoffs[-1] < n_classes:
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                "value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        kind = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, head_bias, **kind)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            width = int(in_features // div_value ** (i + 1))
            inner = Linear(in_features, width, bias=False, **kind), Linear(width, high - low, bias=False, **kind)
            self.tail.append(Sequential(*inner))

    def reset_parameters(self) -> None:
        for layer in (self.head, *(layer for cluster in self.tail for layer in cluster)):
            layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        if target_.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target_.dim() != input_.dim() - 1 or (target_.dim() and input_.size(0) != target_.size(0)):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        rows, target = (input_, target_) if target_.dim() else (input_.unsqueeze(0), target_.unsqueeze(0))
        classes = target._array
        if classes.size and not (classes.min() >= 0 and classes.max() < self.n_classes):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{classes.min()}, {classes.max()}] were found. "
            )
        place, output = target.clone(), zeros(len(classes), dtype=rows.dtype)
        for i, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            (members,) = ((classes >= low) & (classes < high)).nonzero()
            if members.size:
                index = Tensor(members)
                inner = F.log_softmax(self.tail[i](rows[index]), 1)
                output = output.index_add(0, index, inner.gather(1, (target[index] - low).unsqueeze(1)).squeeze(1))
                place[index] = self.shortlist_size + i
        output = output + F.log_softmax(self.head(rows), 1).gather(1, place.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if target_.dim() else output.squeeze(0), loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """(rows, n_classes)"""
        head = F.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            column = self.shortlist_size + i
            parts.append(F.log_softmax(cluster(input), 1) + head[:, column : column + 1])
        return cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The likeliest class of every row; the clusters are asked where the head prefers one of them."""
        best = self.head(input).argmax(1)
        (rare,) = (best._array >= self.shortlist_size).nonzero()
        if rare.size:
            index = Tensor(rare)
            best[index] = self.log_prob(input[index]).argmax(1)
        return best

"""torch.nn.utils.rnn: sequences of different lengths, padded to one block or packed without padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mytorch.creation import full
from mytorch.ops.shape import cat, stack
from mytorch.tensor import Tensor


class PackedSequence(NamedTuple):
    """Step 1 of all sequences, step 2 of all that have one, and so on: data (sum of lengths, ...).

    The sequences lie from the longest to the shortest; sorted_indices says which is which.
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        return self._replace(data=self.data.to(*args, **kwargs))

    def cpu(self) -> PackedSequence:
        return self

    def double(self) -> PackedSequence:
        return self._replace(data=self.data.double())

    def float(self) -> PackedSequence:
        return self._replace(data=self.data.float())

    @property
    def is_cuda(self) -> bool:
        return False

    def lengths(self) -> np.ndarray:
        """Of every sequence, longest first."""
        sizes = self.batch_sizes._array
        return (sizes[:, None] > np.arange(sizes[0])).sum(0)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    return None if permutation is None else Tensor(np.argsort(permutation._array))


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """input (T, N, ...), or (N, T, ...) with batch_first."""
    counts = np.asarray(lengths._array if isinstance(lengths, Tensor) else lengths, np.int64)
    if batch_first:
        input = input.transpose(0, 1)
    if counts.ndim != 1 or len(counts) != input.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {counts.size} (batch_size={input.shape[1]})"
        )
    if not len(counts) or counts.min() <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if counts.max() > input.shape[0]:
        raise RuntimeError(f"Expected lengths of at most {input.shape[0]} steps, but got {counts.max()}")
    order = None
    if enforce_sorted:
        if (np.diff(counts) > 0).any():
            raise RuntimeError(
                "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
                "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement "
                "if you do not need ONNX exportability."
            )
    else:
        order = np.argsort(-counts, kind="stable")
        counts, input = counts[order], input[:, Tensor(order)]
    there = np.arange(counts[0])[:, None] < counts  # (T, N)
    times, rows = np.nonzero(there)
    data = input[Tensor(times), Tensor(rows)]
    sorted_indices = None if order is None else Tensor(order)
    return PackedSequence(data, Tensor(there.sum(1)), sorted_indices, invert_permutation(sorted_indices))


def padded(sequence: PackedSequence, padding_value: float = 0.0, total_length: int | None = None) -> Tensor:
    """(T, N, ...) with the sequences still in their packed order."""
    counts = sequence.lengths()
    longest = int(counts[0]) if total_length is None else total_length
    if longest < counts[0]:
        raise ValueError(
            f"Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {counts[0]}"
        )
    there = np.arange(longest)[:, None] < counts
    rows = np.full(there.shape, len(sequence.data))  # where a sequence has ended: one more row, of the padding
    rows[there] = np.arange(len(sequence.data))
    filler = full((1, *sequence.data.shape[1:]), padding_value, dtype=sequence.data.dtype)
    return cat([sequence.data, filler])[Tensor(rows)]


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The padded block, and the lengths, in the order the sequences had before they were packed."""
    block, counts = padded(sequence, padding_value, total_length), Tensor(sequence.lengths())
    if sequence.unsorted_indices is not None:
        block, counts = block[:, sequence.unsorted_indices], counts[sequence.unsorted_indices]
    return (block.transpose(0, 1) if batch_first else block), counts


def pad_sequence(
    sequences: Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences (L, ...) of different lengths as one block (T, N, ...)."""
    if padding_side not in ("left", "right"):
        raise ValueError(f"padding_side should be 'left' or 'right', but got {padding_side!r}")
    parts = list(sequences)
    if not parts:
        raise RuntimeError("received an empty list of sequences")
    longest = max(len(part) for part in parts)
    columns = []
    for part in parts:
        missing = longest - len(part)
        filler = full((missing, *part.shape[1:]), padding_value, dtype=part.dtype)
        pair = [filler, part] if padding_side == "left" else [part, filler]
        columns.append(cat(pair) if missing else part)
    return stack(columns, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(count)] for row, count in zip(rows, lengths)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    counts = [len(part) for part in sequences]
    return pack_padded_sequence(pad_sequence(sequences), counts, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    block, counts = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(block, counts, batch_first=True)

"""Batch: sentences as padded tensors. The decoder input is derived from the target, never stored twice."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nmtkit.corpus.vocabulary import BOS, EOS, PAD
from nmtkit.data.batching import PlanSummary

if TYPE_CHECKING:
    from nmtkit.data.resegmenting import Resegmenter
    from nmtkit.data.store import PairStore


Ids = NDArray[np.integer[Any]]
"""A sentence."""


class Padded(NamedTuple):
    """Sentences of ids, one a row, each ending in the end mark.

    `ids` is (B, L) int64, PAD beyond each row's length; `lengths` is (B,) int64 and counts the end mark.
    """

    ids: Tensor
    lengths: Tensor

    @property
    def mask(self) -> Tensor:
        """(B, L) bool, true where a token stands."""
        return torch.arange(self.ids.size(1), device=self.ids.device) < self.lengths[:, None]

    def to(self, device: torch.device) -> "Padded":
        """Return the same sentences on `device`."""
        return Padded(self.ids.to(device, non_blocking=True), self.lengths.to(device, non_blocking=True))

    def pinned(self) -> "Padded":
        """Return the same sentences in memory that a GPU reads by itself, while others work."""
        return Padded(self.ids.pin_memory(), self.lengths.pin_memory())


class Batch(NamedTuple):
    """Sentence pairs: `source` (B, S) and `target` (B, T), both with the end mark."""

    source: Padded
    target: Padded

    @property
    def decoder_input(self) -> Tensor:
        """(B, T): the target moved right by one behind BOS, what teacher forcing feeds the decoder."""
        inputs = self.target.ids.roll(1, dims=1)
        inputs[:, 0] = BOS
        return inputs

    def to(self, device: torch.device) -> "Batch":
        """Return the same pairs on `device`."""
        return Batch(self.source.to(device), self.target.to(device))

    def pinned(self) -> "Batch":
        """Return the same pairs in memory that a GPU reads by itself, while others work."""
        return Batch(self.source.pinned(), self.target.pinned())


def collate(sentences: Sequence[Sequence[int] | NDArray[np.integer[Any]]]) -> Padded:
    """Pad sentences (ids without the end mark) to one tensor and append the end mark to each."""
    lengths = np.array([len(ids) + 1 for ids in sentences], np.int64)
    rows = np.full((len(sentences), int(lengths.max())), PAD, np.int64)
    for row, ids in zip(rows, sentences, strict=True):
        row[: len(ids)] = ids
        row[len(ids)] = EOS
    return Padded(torch.from_numpy(rows), torch.from_numpy(lengths))


def make_batch(
    store: "PairStore",
    pairs: Sequence[int] | NDArray[np.int64],
    resegment: "Resegmenter | None" = None,
    epoch: int = 0,
) -> Batch:
    """Return the pairs of the store with these positions as a batch, in this order; resegmented for an epoch."""
    places = [int(pair) for pair in pairs]
    source: Sequence[Ids] = [store.source[place] for place in places]
    target: Sequence[Ids] = [store.target[place] for place in places]
    if resegment is not None:
        source = source if resegment.source is None else resegment.source(source, places, epoch)
        target = target if resegment.target is None else resegment.target(target, places, epoch)
    return Batch(collate(source), collate(target))


def cost_of(batches: Sequence[Batch]) -> PlanSummary:
    """Return what an update of these batches costs; that of stored pairs is known from their lengths."""
    sources, targets = [batch.source for batch in batches], [batch.target for batch in batches]
    tokens = [sum(int(padded.lengths.sum()) for padded in side) for side in (sources, targets)]
    positions = [sum(padded.ids.numel() for padded in side) for side in (sources, targets)]
    pairs = sum(len(padded.lengths) for padded in sources)
    return PlanSummary(pairs, 1, len(batches), *tokens, *positions)

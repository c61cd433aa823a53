"""Batch: sentences as padded tensors. The decoder input is derived from the target, never stored twice."""

from collections.abc import Sequence
from itertools import pairwise
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

    def rows(self, begin: int, end: int) -> "Padded":
        """Return some of the sentences, as padded as they are."""
        return Padded(self.ids[begin:end], self.lengths[begin:end])

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

    def rows(self, begin: int, end: int) -> "Batch":
        """Return some of the pairs, as padded as they are."""
        return Batch(self.source.rows(begin, end), self.target.rows(begin, end))

    def pinned(self) -> "Batch":
        """Return the same pairs in memory that a GPU reads by itself, while others work."""
        return Batch(self.source.pinned(), self.target.pinned())


class Part(NamedTuple):
    """A tensor of an update, or some of its sentences."""

    batch: Batch
    tensor: int
    """The place of the tensor in its update."""
    before: int
    """Sentences of the tensor that stand before these."""
    weight: float = 1.0
    """0: computed only because other processes wait for it; counts for nothing."""

    def cut(self, pieces: int) -> "list[Part]":
        """Return the same sentences in at most so many parts, as padded as they are."""
        count = len(self.batch.source.lengths)
        ends = [count * number // pieces for number in range(pieces + 1)]
        return [
            self._replace(batch=self.batch.rows(begin, end), before=self.before + begin)
            for begin, end in pairwise(ends)
            if begin < end
        ]


def collate(sentences: Sequence[Sequence[int] | NDArray[np.integer[Any]]], positions: int = 0) -> Padded:
    """Pad sentences (ids without the end mark) to one tensor of so many positions or more; append their end marks."""
    lengths = np.array([len(ids) + 1 for ids in sentences], np.int64)
    rows = np.full((len(sentences), max(positions, int(lengths.max()))), PAD, np.int64)
    for row, ids in zip(rows, sentences, strict=True):
        row[: len(ids)] = ids
        row[len(ids)] = EOS
    return Padded(torch.from_numpy(rows), torch.from_numpy(lengths))


def make_batch(
    store: "PairStore",
    pairs: Sequence[int] | NDArray[np.int64],
    resegment: "Resegmenter | None" = None,
    epoch: int = 0,
    positions: tuple[int, int] = (0, 0),
) -> Batch:
    """Return the pairs of the store with these positions as a batch, in this order; resegmented for an epoch.

    Source and target are padded to `positions` where they are shorter. Raises DataError where the store is damaged.
    """
    places = [int(pair) for pair in pairs]
    source: Sequence[Ids] = [store.source[place] for place in places]
    target: Sequence[Ids] = [store.target[place] for place in places]
    if resegment is not None:
        source = source if resegment.source is None else resegment.source(source, places, epoch)
        target = target if resegment.target is None else resegment.target(target, places, epoch)
    batch = Batch(collate(source, positions[0]), collate(target, positions[1]))
    for sentences, padded in ((store.source, batch.source), (store.target, batch.target)):
        lowest, highest = padded.ids.aminmax()
        sentences.check(int(lowest), int(highest))
    return batch


def cost_of(batches: Sequence[Batch]) -> PlanSummary:
    """Return what an update of these batches costs; that of stored pairs is known from their lengths."""
    sources, targets = [batch.source for batch in batches], [batch.target for batch in batches]
    tokens = [sum(int(padded.lengths.sum()) for padded in side) for side in (sources, targets)]
    positions = [sum(padded.ids.numel() for padded in side) for side in (sources, targets)]
    pairs = sum(len(padded.lengths) for padded in sources)
    return PlanSummary(pairs, 1, len(batches), *tokens, *positions)

"""Epochs: the updates of training one after another, from any position on. Imports no torch.

The pairs of an epoch, in their shuffled order, are taken in windows; each is cut into tensors and updates when it is
reached, and by itself. So to begin anywhere costs one window, and what lies behind a position is known to the pair.
"""

import math
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from nmtkit.data.batching import (
    NEAR,
    NOTHING,
    Budget,
    Plan,
    PlanSummary,
    Update,
    longest_tensor,
    padded_sizes,
    plan_updates,
)
from nmtkit.data.mixing import CorpusRange, Mixture
from nmtkit.data.position import Leg, Position, PositionError
from nmtkit.data.settings import BatchConfig
from nmtkit.data.tensors import Indexes, Lengths
from nmtkit.errors import DataError

TENSORS = 3
"""What a shuffle is for, beside those of `mixing`."""


class Progress(NamedTuple):
    """How far training has come."""

    epochs: float
    """Passes over the corpora, the one at hand counted by its pairs."""
    updates_per_epoch: float
    """As many as there are where all windows are like the one at hand."""


class Step(NamedTuple):
    """An update of an epoch, and where training stands behind it."""

    epoch: int
    update: Update
    behind: Position
    progress: Progress


class Batches:
    """The updates of a training, a pure function of (lengths of the pairs, corpora, settings, seed)."""

    def __init__(
        self, source: Lengths, target: Lengths, corpora: Sequence[CorpusRange], config: BatchConfig, *, seed: int
    ) -> None:
        self.source, self.target = source, target
        self._corpora, self._window_pairs, self._seed = corpora, config.window, seed
        self._budget = Budget(config.tokens_per_update, config.tokens_per_tensor)

    def steps(self, position: Position) -> Iterator[Step]:
        """Yield what follows a position, epoch after epoch, without end.

        A position that was reached under other budgets is followed by exactly the pairs of its epoch not behind it.
        Raises PositionError for one that was not reached over these pairs, DataError where an epoch has no pair.
        """
        while True:
            mixture = self._mixture(position)
            updates = self._window(mixture, position)
            pairs = sum(update.pairs for update in updates)
            for update in updates:
                epoch = position.epoch
                position = self._behind(mixture, position, update)
                epochs = position.epoch + position.seen / len(mixture)
                yield Step(epoch, update, position, Progress(epochs, len(updates) * len(mixture) / pairs))

    def largest(self, position: Position, ranks: int = 1) -> list[Indexes]:
        """Return tensors that no later one exceeds by much: the largest of the window, and that of the longest pairs.

        Of them, as many pairs as one of `ranks` processes may get. Raises as `steps` does.
        """
        window = self._window(self._mixture(position), position)
        tensors = [tensor for update in window for tensor in update.tensors]
        largest = int(padded_sizes(tensors, self.source, self.target).sum(1).argmax())
        found = tensors[largest], longest_tensor(self.source, self.target, self._budget.tokens_per_tensor)
        room = 2 * self._budget.tokens_per_update * (1 + NEAR) / ranks  # positions of both sides
        sizes = padded_sizes(found, self.source, self.target).sum(1)
        return [t[: math.ceil(len(t) * min(1.0, room / size))] for t, size in zip(found, sizes.tolist(), strict=True)]

    def pairs_per_epoch(self) -> int:
        """Return how many pairs an epoch sees, repetitions counted."""
        return len(self._mixture(Position()))

    def summary(self, epoch: int = 0, *, windows: int | None = None) -> PlanSummary:
        """Return what an epoch costs, or its first few windows."""
        mixture = self._mixture(Position(epoch))
        cost = NOTHING
        for begin in islice(self._begins(len(mixture)), windows):
            position = Position(epoch, begin=begin)
            cost = cost.plus(self._plan(self._pairs(mixture, position), position, self._budget).cost)
        return cost

    def _mixture(self, position: Position) -> Mixture:
        corpora = self._corpora
        if position.weights:
            if len(position.weights) != len(corpora):
                raise PositionError(f"{len(corpora)} corpora, but the position has {len(position.weights)} weights")
            corpora = [c._replace(weight=weight) for c, weight in zip(corpora, position.weights, strict=True)]
        mixture = Mixture(corpora, seed=self._seed, epoch=position.epoch)
        if not len(mixture):
            raise DataError("corpus.train: with these weights an epoch has no pair; raise the weight of a corpus")
        return mixture

    def _begins(self, pairs: int) -> Iterator[int]:
        begin = 0
        while begin < pairs:
            yield begin
            begin += self._size(pairs - begin)

    def _size(self, left: int) -> int:
        """Return the pairs of the next window: those left in the epoch come in windows of equal size."""
        windows = -(-left // self._window_pairs)
        return -(-left // max(1, windows))

    def _window(self, mixture: Mixture, position: Position) -> list[Update]:
        """Plan the window at a position and return its updates that are not behind."""
        pairs = self._pairs(mixture, position)
        size = len(pairs)
        behind: list[Update] = []
        updates: list[Update] = []
        for leg in position.legs:
            planned = self._plan(pairs, position, leg.budget).updates
            behind, updates = [*behind, *planned[: leg.updates]], planned[leg.updates :]
            pairs = _pairs(updates)
        if _checksum(behind) != position.checksum or len(pairs) != size - position.used:
            raise PositionError("the pairs behind the position are not those that are planned now")
        if not position.legs or position.legs[-1].budget != self._budget:
            updates = self._plan(pairs, position, self._budget).updates
        return updates

    def _pairs(self, mixture: Mixture, position: Position) -> Indexes:
        """Return all pairs of the window at a position."""
        left = len(mixture) - position.begin
        size = position.size or self._size(left)
        if not position.used < size <= left:
            raise PositionError(f"a window of {size} pairs, {position.used} of them behind, where {left} are left")
        return mixture.pairs(position.begin, position.begin + size)

    def _plan(self, pairs: Indexes, position: Position, budget: Budget) -> Plan:
        words = TENSORS, self._seed, position.epoch, position.begin
        return plan_updates(pairs, self.source, self.target, budget, words)

    def _behind(self, mixture: Mixture, position: Position, update: Update) -> Position:
        """Return the position behind an update that follows a position."""
        size = position.size or self._size(len(mixture) - position.begin)
        weights = position.weights or tuple(corpus.weight for corpus in self._corpora)
        used = position.used + update.pairs
        if position.begin + used == len(mixture):
            return Position(position.epoch + 1)
        if used == size:
            return Position(position.epoch, weights, begin=position.begin + size)
        legs, last = position.legs[:-1], position.legs[-1:]
        if last and last[0].budget == self._budget:
            legs = (*legs, Leg(self._budget, last[0].updates + 1))
        else:
            legs = (*legs, *last, Leg(self._budget, 1))
        checksum = _checksum([update], position.checksum)
        return Position(position.epoch, weights, position.begin, size, used, checksum, legs)


def _pairs(updates: Sequence[Update]) -> Indexes:
    tensors = [tensor for update in updates for tensor in update.tensors]
    return np.concatenate(tensors) if tensors else np.zeros(0, np.int64)


def _checksum(updates: Sequence[Update], before: int = 0) -> int:
    return zlib.crc32(_pairs(updates).astype("<i8").tobytes(), before)

"""Mixing: which pairs an epoch is made of, where corpora are seen more or less often than once. Imports no torch."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtkit.data.shuffle import Shuffle

ORDER, DRAW = 1, 2
"""What a shuffle is for, so that shuffles of one seed and epoch do not resemble each other."""


class CorpusRange(NamedTuple):
    """A corpus in the store: its pairs, from `start` to before `stop`, and how often an epoch sees each of them."""

    start: int
    stop: int
    weight: float = 1.0


class Mixture:
    """The pairs of an epoch in their order, a pure function of (corpora, seed, epoch).

    A corpus of weight 2.0 comes twice; of weight 0.5 comes a half, drawn anew each epoch; of weight 2.5 both.
    """

    def __init__(self, corpora: Sequence[CorpusRange], *, seed: int, epoch: int) -> None:
        self._corpora = [corpus for corpus in corpora if corpus.stop > corpus.start]
        self._ends = np.cumsum([seen(corpus) for corpus in self._corpora], dtype=np.int64)
        self._draws = [
            Shuffle(corpus.stop - corpus.start, DRAW, seed, epoch, number)
            for number, corpus in enumerate(self._corpora)
        ]
        self._order = Shuffle(len(self), ORDER, seed, epoch)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def pairs(self, begin: int, end: int) -> NDArray[np.int64]:
        """Return the positions in the store of the pairs from `begin` to before `end` of the epoch's order."""
        numbers = self._order(np.arange(begin, end))
        owners = np.searchsorted(self._ends, numbers, side="right")
        pairs = np.empty(len(numbers), np.int64)
        for owner, corpus in enumerate(self._corpora):
            own = owners == owner
            pairs[own] = self._within(owner, corpus, numbers[own] - (self._ends[owner] - seen(corpus)))
        return pairs

    def _within(self, owner: int, corpus: CorpusRange, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the pairs that a corpus gives under numbers from 0: whole rounds first, then what is drawn."""
        size = corpus.stop - corpus.start
        places = numbers % size
        drawn = numbers >= int(corpus.weight) * size
        places[drawn] = self._draws[owner](places[drawn])
        return corpus.start + places


def seen(corpus: CorpusRange) -> int:
    """Return how many pairs of a corpus an epoch sees, repetitions counted."""
    size = corpus.stop - corpus.start
    return int(corpus.weight) * size + round(corpus.weight % 1 * size)


def corpus_ranges(
    sizes: Sequence[int], weights: Sequence[float | None], temperature: float | None
) -> list[CorpusRange]:
    """Return corpora of these sizes, one behind the other in the store, with the weights that the settings ask for."""
    by_size = temperature_weights(sizes, temperature or 1.0)
    begin, ranges = 0, []
    for size, given, otherwise in zip(sizes, weights, by_size, strict=True):
        ranges.append(CorpusRange(begin, begin + size, float(otherwise if given is None else given)))
        begin += size
    return ranges


def temperature_weights(sizes: Sequence[int], temperature: float) -> tuple[float, ...]:
    """Return weights proportional to size^(1/temperature - 1) (Arivazhagan et al. 2019, section 3.2).

    So a corpus is met in proportion to size^(1/temperature): 1 leaves all as they are, a high temperature makes all
    corpora equally frequent. The largest keeps the weight 1, so nothing of it is left out.
    """
    largest = max(sizes, default=0)
    return tuple((size / largest) ** (1 / temperature - 1) if size else 1.0 for size in sizes)

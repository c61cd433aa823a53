"""Cutting pairs into tensors of sentences alike in length on both sides, so that little is padding. Imports no torch.

Each pair is a point in a plane, source length against target length. A tensor is padded to the upper right corner of a
rectangle around its points, so the plane is cut into rectangles, one cut after another where it saves most, each either
between two source or between two target lengths. Pairs of the same lengths are alike, so only the number of pairs at
each point matters and the work hardly depends on how many there are.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtkit.data.shuffle import Shuffle

Indexes = NDArray[np.int64]
"""Positions of pairs in the store."""
Lengths = NDArray[np.integer[Any]]
"""Pieces of each sentence of the store, end marks not counted."""
Numbers = NDArray[np.float64]

OVERHEAD = 1 / 16
"""What a tensor costs by itself, in full tensors: launching its kernels, reading the weights."""


def cut(source: Lengths, target: Lengths, tokens: int, words: Sequence[int] = ()) -> list[Indexes]:
    """Return tensors of at most `tokens` positions a side, as places in `source` and `target`; every place once.

    The lengths given are of both sides of each pair; end marks and padding count towards `tokens`. A pair that is
    longer by itself makes a tensor by itself. Within a tensor, and between tensors of the same lengths, places keep
    their order.

    `words` seed a surcharge on a cut between two lengths, up to what a tensor costs by itself: so the pairs of a small
    corpus share their tensor with others in each epoch, at little more padding. Without words there is none.
    """
    if not len(source):
        return []
    plane = _Plane(source, target, tokens, words)
    order = np.argsort(plane.tile_of, kind="stable")
    tensors: list[Indexes] = []
    begin = 0
    for tile in plane.tiles:
        most = max(1, int(tokens / tile.longest))
        end = begin + tile.pairs
        tensors += [order[start : min(start + most, end)] for start in range(begin, end, most)]
        begin = end
    return tensors


class _Tile(NamedTuple):
    """A rectangle of the plane that is not cut further."""

    pairs: int
    longest: int
    """Positions that a pair takes on the longer side."""


class _Box(NamedTuple):
    """A rectangle of the plane, drawn close around its pairs."""

    rows: slice
    columns: slice
    pairs: float
    pairs_by_row: Numbers
    pairs_by_column: Numbers


class _Plane:
    """The pairs counted by (source length, target length), cut into tiles."""

    def __init__(self, source: Lengths, target: Lengths, tokens: int, words: Sequence[int]) -> None:
        # Only lengths that occur: with the longest sentences in the thousands most do not.
        self._source, rows = _distinct(source)
        self._target, columns = _distinct(target)
        shape = len(self._source), len(self._target)
        counts = np.bincount(rows * shape[1] + columns, minlength=shape[0] * shape[1])
        # Floating point, whose whole numbers are exact here, since numpy is faster at it.
        self._counts = counts.reshape(shape).astype(np.float64)
        self._tokens, self._overhead = tokens, OVERHEAD * tokens
        self._source_surcharge, self._target_surcharge = np.split(self._overhead * _draws(sum(shape), words), shape[:1])
        self.tiles: list[_Tile] = []
        tile_at = np.zeros(shape, np.int32)
        for number, (box, tile) in enumerate(self._cut()):
            tile_at[box.rows, box.columns] = number
            self.tiles.append(tile)
        small = len(self.tiles) <= np.iinfo(np.uint16).max  # which numpy sorts several times as fast
        self.tile_of = tile_at.astype(np.uint16 if small else np.int32)[rows, columns]

    def _cut(self) -> Iterator[tuple[_Box, _Tile]]:
        """Yield rectangles that are not worth another cut, from short to long."""
        waiting = [(slice(0, len(self._source)), slice(0, len(self._target)))]
        while waiting:
            box = self._close(*waiting.pop())
            place = self._best_cut(box)
            if place is None:
                longest = max(self._source[box.rows][-1], self._target[box.columns][-1])
                yield box, _Tile(int(box.pairs), int(longest))
            else:
                waiting += place

    def _close(self, rows: slice, columns: slice) -> _Box:
        """Return the smallest rectangle that holds the same pairs."""
        counts = self._counts[rows, columns]
        by_row, by_column = counts.sum(1), counts.sum(0)
        across, along = by_row.nonzero()[0], by_column.nonzero()[0]
        top, bottom, left, right = int(across[0]), int(across[-1]) + 1, int(along[0]), int(along[-1]) + 1
        return _Box(
            slice(rows.start + top, rows.start + bottom),
            slice(columns.start + left, columns.start + right),
            float(by_row.sum()),
            by_row[top:bottom],
            by_column[left:right],
        )

    def _best_cut(self, box: _Box) -> list[tuple[slice, slice]] | None:
        """Return the halves of the best cut across the side with more padding, or else the other; None: no gain."""
        sources, targets = self._source[box.rows], self._target[box.columns]
        pairs = box.pairs
        source_padding = pairs * sources[-1] - box.pairs_by_row @ sources
        target_padding = pairs * targets[-1] - box.pairs_by_column @ targets
        if source_padding + target_padding <= self._overhead:
            return None
        uncut = float(self._cost(pairs, sources[-1], targets[-1]))
        counts = self._counts[box.rows, box.columns]
        source_first = bool(source_padding >= target_padding)
        for by_source in (source_first, not source_first):
            if by_source:
                place, cost = self._cheapest(
                    counts, box.pairs_by_row, sources, targets, self._source_surcharge[box.rows]
                )
                middle = box.rows.start + place
                halves = [(slice(middle, box.rows.stop), box.columns), (slice(box.rows.start, middle), box.columns)]
            else:
                place, cost = self._cheapest(
                    counts.T, box.pairs_by_column, targets, sources, self._target_surcharge[box.columns]
                )
                middle = box.columns.start + place
                halves = [(box.rows, slice(middle, box.columns.stop)), (box.rows, slice(box.columns.start, middle))]
            if cost < uncut:
                return halves
        return None

    def _cheapest(
        self, counts: Numbers, by_row: Numbers, across: Numbers, along: Numbers, surcharge: Numbers
    ) -> tuple[int, float]:
        """Return before which row to cut, and what both halves, drawn close, then cost; infinite where none can be."""
        if len(across) < 2:
            return 0, np.inf
        furthest = counts.shape[1] - 1 - (counts[:, ::-1] > 0).argmax(1)  # the last column of each row with a pair
        furthest[by_row == 0] = 0
        before = along[np.maximum.accumulate(furthest[:-1])]
        behind = along[np.maximum.accumulate(furthest[:0:-1])[::-1]]
        pairs_until = by_row.cumsum()
        pairs_before, pairs_behind = pairs_until[:-1], pairs_until[-1] - pairs_until[:-1]
        costs = self._cost(pairs_before, across[:-1], before) + self._cost(pairs_behind, across[-1], behind)
        costs += surcharge[1:]
        best = int(costs.argmin())
        return best + 1, float(costs[best])

    def _cost(self, pairs: Numbers | float, one: Numbers, other: Numbers) -> Numbers:
        """Return what pairs cost that are padded to these lengths: positions, and the overhead of their tensors."""
        tensors = np.ceil(pairs * np.maximum(one, other) / self._tokens)
        return pairs * (one + other) + self._overhead * tensors


def _draws(count: int, words: Sequence[int]) -> Numbers:
    """Return numbers from 0 to below 1."""
    if not words:
        return np.zeros(count)
    return Shuffle(max(count, 1_000), *words)(np.arange(count)) / max(count, 1_000)


def _distinct(lengths: Lengths) -> tuple[Numbers, Indexes]:
    """Return the positions that the distinct lengths take, ascending, and the place among them of each length given."""
    there = np.bincount(lengths) > 0
    places = np.cumsum(there, dtype=np.int64) - 1
    return np.flatnonzero(there).astype(np.float64) + 1, places[lengths]

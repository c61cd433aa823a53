"""How sure a score is, and the difference of two: the bootstrap and approximate randomization.

A score of a test set is a function of what its lines add (see `Metric`), so scores of other sets of lines cost a sum
each. What is drawn depends on the number of lines, of draws and the seed alone: it is the same for all metrics and
systems, so that comparisons are paired, and the same files always have the same intervals and p-values.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nmtkit.metrics.base import Array

SIGNIFICANT = 0.05

_AT_ONCE = 4_000_000
"""Numbers of drawn lines held at once: 32 MB."""
_TIE = 1e-9
"""Differences that differ by less, in points of a score, are equal: sums of fractions round in some order."""

Values = Callable[[Array], Array]
"""From sums, (…, W), to scores, (…)."""


class Interval(NamedTuple):
    """Where a score lies in most draws of the bootstrap (Koehn 2004)."""

    low: float
    high: float

    @property
    def half(self) -> float:
        """Half of its width: what sacreBLEU shows behind ±."""
        return (self.high - self.low) / 2


class Comparison(NamedTuple):
    """A system beside the baseline: the difference of their scores, and how often chance makes as much of it.

    `p_bootstrap` is of paired bootstrap resampling, `p_randomization` of approximate randomization (Riezler and Maxwell
    2005); both are two-sided.
    """

    difference: float
    p_bootstrap: float
    p_randomization: float

    @property
    def is_significant(self) -> bool:
        """True where both tests find the difference significant: the bootstrap alone is too sure of few lines."""
        return max(self.p_bootstrap, self.p_randomization) < SIGNIFICANT


class Measured(NamedTuple):
    """A metric's numbers for the lines of a test set: (N, W) of each system, the baseline's first."""

    statistics: Sequence[Array]
    values: Values


class Findings(NamedTuple):
    """What was found of the systems by one metric: an interval of each, a comparison of each but the baseline."""

    intervals: list[Interval]
    comparisons: list[Comparison]


def resampled(measured: Sequence[Measured], *, draws: int, seed: int, confidence: float) -> list[Findings]:
    """Return intervals and comparisons by each metric, from at least one draw.

    Raises nothing: systems that do not differ in score have p-values of 1, whether their lines differ or not.
    """
    blocks = [statistics for each in measured for statistics in each.statistics]
    lines = len(blocks[0])
    edges = np.cumsum([0, *(block.shape[-1] for block in blocks)])
    everything = np.concatenate(blocks, axis=-1)
    by_bootstrap = np.concatenate([weights @ everything for weights in _bootstrap(lines, draws, seed)])

    # Both lots of pseudo-systems of approximate randomization follow from how much the swapped lines move.
    moves = [ours - each.statistics[0] for each in measured for ours in each.statistics]
    by_swapping = np.concatenate([swaps @ np.concatenate(moves, axis=-1) for swaps in _swaps(lines, draws, seed)])

    found, place = [], 0
    for each in measured:
        own = [slice(edges[n], edges[n + 1]) for n in range(place, place + len(each.statistics))]
        place += len(each.statistics)
        drawn = [each.values(by_bootstrap[:, columns]) for columns in own]
        sums = [statistics.sum(axis=0) for statistics in each.statistics]
        comparisons = []
        for other in range(1, len(own)):
            moved = by_swapping[:, own[other]]
            swapped = each.values(sums[other] - moved) - each.values(sums[0] + moved)
            real = float(each.values(sums[other]) - each.values(sums[0]))
            differences = drawn[other] - drawn[0]
            comparisons.append(
                Comparison(real, p_value(differences - differences.mean(), real), p_value(swapped, real))
            )
        found.append(Findings([interval(scores, confidence) for scores in drawn], comparisons))
    return found


def p_value(differences: Array, real: float) -> float:
    """Return how often a difference that chance made is at least as large as the real one, in either direction.

    The real one counts as a draw (Noreen 1989), so a p-value is never 0; and as draws that tie with it count, it is 1
    where there is no difference. (sacreBLEU 2.6 leaves ties out, and finds systems that are the same significant.)
    """
    as_large = int((np.abs(differences) >= abs(real) - _TIE).sum())
    return (as_large + 1) / (len(differences) + 1)


def interval(scores: Array, confidence: float) -> Interval:
    """Return the range that holds this share of the scores, as much left out below as above."""
    ordered = np.sort(scores)
    left_out = int(len(ordered) * (1 - confidence) / 2 + 1e-9)
    return Interval(float(ordered[left_out]), float(ordered[len(ordered) - left_out - 1]))


def _chunks(lines: int, draws: int, whole: int = 1) -> Iterator[int]:
    """Yield the sizes of portions of draws, a multiple of `whole` each but for the last."""
    size = max(1, _AT_ONCE // lines // whole) * whole
    for begin in range(0, draws, size):
        yield min(size, draws - begin)


def _bootstrap(lines: int, draws: int, seed: int) -> Iterator[Array]:
    """Yield how often each draw holds each line, (draws, lines); the lines that sacreBLEU draws with this seed."""
    generator = np.random.default_rng(seed)
    for count in _chunks(lines, draws):
        drawn = generator.choice(lines, size=(count, lines), replace=True)
        flat = (drawn + lines * np.arange(count)[:, None]).ravel()
        yield np.bincount(flat, minlength=count * lines).reshape(count, lines).astype(np.float64)


def _swaps(lines: int, draws: int, seed: int) -> Iterator[Array]:
    """Yield which lines each draw swaps between two systems, (draws, lines), as 1 and 0."""
    generator = np.random.default_rng(seed)
    whole = 32 // math.gcd(32, lines)  # bits are drawn 32 at once, and none is left over
    for count in _chunks(lines, draws, whole):
        kept = generator.integers(2, size=(count, lines), dtype=bool)
        yield (~kept).astype(np.float64)

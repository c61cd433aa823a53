"""What rows of Table 3 gain or lose against the base, beside the paper, with the spread that seeds alone make.

An effect on perplexity is that of its logarithm, in nats a piece, so that it can be compared between texts. The spread
of one training is that of equal rows with different seeds, pooled over all rows (the paper had one training of each).
"""

import itertools
import math
import random
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

from recipe_parts.table3_cells import Result
from recipe_parts.table3_rows import BASE, Paper, Row

# Quantiles of Student's t, 97.5 %, for 1 to 30 degrees of freedom.
_T = (
    12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09,
    2.09, 2.08, 2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05, 2.04,
)  # fmt: skip

EXACT = 8
"""Rows up to which all orders are tried to tell how likely an agreement is by chance."""
DRAWS = 20_000


class Measure(NamedTuple):
    """A figure that rows are compared by."""

    name: str
    of_result: Callable[[Result], float]
    of_paper: Callable[[Paper], float]


PERPLEXITY = Measure("perplexity", lambda result: math.log(result.perplexity), lambda paper: math.log(paper.perplexity))
SCORE = Measure("BLEU", lambda result: result.score, lambda paper: paper.bleu)
MEASURES = (PERPLEXITY, SCORE)


class Effect(NamedTuple):
    """What a row gains or loses against the base by a measure."""

    row: Row
    paper: float
    here: float
    margin: float | None
    """Half of the 95 % interval around it; None where no row has two seeds."""

    @property
    def is_clear(self) -> bool:
        """Whether it is more than what seeds alone make."""
        return self.margin is not None and abs(self.here) > self.margin


class Agreement(NamedTuple):
    """How the order of rows here agrees with the paper's."""

    rows: int
    correlation: float
    """Spearman's, of effects."""
    chance: float
    """The share of all orders that agree as well or better."""
    low: float
    high: float
    """Between which it lies in 95 % of the tables drawn with the spread of seeds."""
    directed: int
    """Rows with an effect in the paper; the counts below are of these."""
    same_direction: int
    clear: int
    clear_same_direction: int


Found = dict[Row, list[Result]]
"""The results of each row, by seed; rows without one are not there."""


def spread(found: Found, measure: Measure) -> tuple[float, int] | None:
    """Return the standard deviation of one training by its seed, pooled over rows, and its degrees of freedom."""
    values = [[measure.of_result(result) for result in results] for results in found.values()]
    freedom = sum(len(each) - 1 for each in values)
    if not freedom:
        return None
    squares = sum((value - statistics.fmean(each)) ** 2 for each in values for value in each)
    return math.sqrt(squares / freedom), freedom


def effects(found: Found, measure: Measure) -> list[Effect]:
    """Return the effects of all rows but the base, in the table's order; none without the base."""
    if BASE not in found:
        return []
    base, one = found[BASE], spread(found, measure)
    middle = statistics.fmean(map(measure.of_result, base))
    return [
        Effect(
            row,
            measure.of_paper(row.paper) - measure.of_paper(BASE.paper),
            statistics.fmean(map(measure.of_result, results)) - middle,
            None if one is None else _margin(one, len(results), len(base)),
        )
        for row, results in found.items()
        if row is not BASE
    ]


def _margin(one: tuple[float, int], trainings: int, of_base: int) -> float:
    deviation, freedom = one
    quantile = _T[freedom - 1] if freedom <= len(_T) else 1.96 + 2.4 / freedom
    return quantile * deviation * math.sqrt(1 / trainings + 1 / of_base)


def agreement(found: Found, measure: Measure) -> Agreement | None:
    """Return how the effects agree with the paper's; None where fewer than three rows are there or all are equal."""
    all_effects = effects(found, measure)
    theirs, ours = [effect.paper for effect in all_effects], [effect.here for effect in all_effects]
    correlation = spearman(theirs, ours)
    if len(ours) < 3 or correlation is None:
        return None
    directed = [effect for effect in all_effects if effect.paper]
    clear = [effect for effect in directed if effect.is_clear]
    low, high = _interval(found, measure, theirs, ours)
    return Agreement(
        len(ours),
        correlation,
        _chance(theirs, ours),
        low,
        high,
        len(directed),
        sum(map(_same_direction, directed)),
        len(clear),
        sum(map(_same_direction, clear)),
    )


def _same_direction(effect: Effect) -> bool:
    return effect.paper * effect.here > 0


def spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return the rank correlation, ties having their middle rank; None where all of one are equal."""
    if len(set(one)) < 2 or len(set(other)) < 2:
        return None
    return statistics.correlation(_ranks(one), _ranks(other))


def _ranks(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]


def _chance(theirs: Sequence[float], ours: Sequence[float]) -> float:
    """Return the share of orders of our effects that agree with theirs at least as well: all orders, or some drawn."""
    their_ranks, our_ranks = _ranks(theirs), _ranks(ours)
    wanted = _product(their_ranks, our_ranks) - 1e-9  # of equal ranks the correlation rises with the product
    if len(ours) <= EXACT:
        hits = [_product(their_ranks, order) >= wanted for order in itertools.permutations(our_ranks)]
        return sum(hits) / len(hits)
    draw = random.Random(1)
    hits = [_product(their_ranks, draw.sample(our_ranks, len(our_ranks))) >= wanted for _ in range(DRAWS)]
    return (sum(hits) + 1) / (DRAWS + 1)


def _product(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(one, other, strict=True))


def _interval(found: Found, measure: Measure, theirs: Sequence[float], ours: Sequence[float]) -> tuple[float, float]:
    """Return between which correlations 95 % lie if each mean were drawn anew with the spread of seeds."""
    one = spread(found, measure)
    if one is None:
        return -1.0, 1.0
    draw, deviation = random.Random(1), one[0]
    counts = [len(results) for row, results in found.items() if row is not BASE]
    drawn = sorted(
        spearman(theirs, [draw.gauss(mean, deviation / math.sqrt(n)) for mean, n in zip(ours, counts, strict=True)])
        or 0.0
        for _ in range(DRAWS // 10)
    )
    return drawn[len(drawn) // 40], drawn[-1 - len(drawn) // 40]

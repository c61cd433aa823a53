"""Scores of groups of lines, with their uncertainty."""

from collections.abc import Sequence
from typing import NamedTuple

from nmtkit.metrics.significance import Measured, resampled

ENOUGH = 30
"""Lines below which neither a score nor its interval can be relied on: a few long lines decide it."""
DRAWS = 500
SEED = 12345
CONFIDENCE = 0.95


class Scored(NamedTuple):
    """A metric and what each line of each system adds to its scores."""

    name: str
    signature: str
    higher_is_better: bool
    measured: Measured


class Estimate(NamedTuple):
    """A score, and the interval that holds most of those of resampled lines."""

    value: float
    low: float
    high: float


def estimates(scores: Scored, lines: Sequence[int]) -> list[Estimate]:
    """Return the score of each system over some lines, at least one; the same lines have the same interval."""
    statistics, values = scores.measured
    some = [rows[list(lines)] for rows in statistics]
    [found] = resampled([Measured(some, values)], draws=DRAWS, seed=SEED, confidence=CONFIDENCE)
    return [
        Estimate(float(values(rows.sum(axis=0))), *interval)
        for rows, interval in zip(some, found.intervals, strict=True)
    ]

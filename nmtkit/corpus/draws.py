"""Draws: numbers in [0, 1) that depend on a seed and their place alone, for many lines at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Steele, Lea and Flood (2014), SplitMix64.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))


def uniforms(seeds: NDArray[np.uint64], counts: Sequence[int]) -> list[float]:
    """Return for each seed as many numbers in [0, 1) as asked for, one behind the other."""
    places = np.arange(sum(counts), dtype=np.uint64)
    starts = np.cumsum(np.asarray(counts, np.uint64)) - np.asarray(counts, np.uint64)
    places -= np.repeat(starts, counts)
    mixed = _mixed(np.repeat(seeds, counts) + places * _STEP)
    numbers: list[float] = _fractions(mixed).tolist()
    return numbers


def uniforms_at(seeds: NDArray[np.uint64], places: Sequence[int]) -> NDArray[np.float64]:
    """Return the numbers at these places, from 0, of those that `uniforms` gives, (places, seeds)."""
    return _fractions(_mixed(seeds[None, :] + np.array(places, np.uint64)[:, None] * _STEP))


def line_seeds(
    seed: int, epoch: int, side: int, places: Sequence[int] | NDArray[np.integer[Any]]
) -> NDArray[np.uint64]:
    """Return the seeds of the sentences at these places of the store, on a side (0 source, 1 target) in an epoch."""
    return seeds_of(seed, epoch, side, places)


def seeds_of(*numbers: int | Sequence[int] | NDArray[np.integer[Any]]) -> NDArray[np.uint64]:
    """Return a seed for each row of columns of numbers, others for other rows; a single number stands for a column."""
    mixed = np.zeros(1, np.uint64)
    for column in numbers:
        row = np.array([column % 2**64], np.uint64) if isinstance(column, int) else np.asarray(column).astype(np.uint64)
        mixed = _mixed(mixed + _STEP + row)
    return mixed


def _fractions(mixed: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return 64 bits as a number in [0, 1)."""
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the numbers scattered over 64 bits, no two the same that were not before."""
    for shift, factor in _MIX:
        numbers = (numbers ^ (numbers >> shift)) * factor
    return numbers ^ (numbers >> np.uint64(31))

"""Shuffle: a pseudo-random order of any number of things that is computed where it is looked at. Imports no torch."""

import numpy as np
from numpy.typing import NDArray

SMALLEST_BITS = 6
"""With fewer the network has too few permutations to choose from; more take long to walk through for a small size."""
WORD = np.uint64(32)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
"""Odd multipliers that spread every bit of a number over the upper half of the product (those of SplitMix64)."""


class Shuffle:
    """An order of the numbers 0 to `size` - 1, a pure function of `words`.

    A drawn permutation of 36 million pairs would fill memory in every process, and be drawn whole before its middle is
    known. This one is a Feistel network (Luby and Rackoff 1988): the number's upper and lower half are scrambled by
    each other in turn, which can be undone and so never maps two numbers to one; what lands beyond `size` is mapped
    again until it lands within (cycle walking, Black and Rogaway 2002). It takes no memory, any place of it costs the
    same, and it is the same with every version of numpy.
    """

    def __init__(self, size: int, *words: int) -> None:
        self.size = size
        bits = max((size - 1).bit_length(), SMALLEST_BITS)
        self._lower_bits = np.uint64(bits // 2)
        self._lower, self._upper = (np.uint64((1 << half) - 1) for half in (bits // 2, bits - bits // 2))
        self._keys = np.random.SeedSequence(words).generate_state(6, np.uint64).reshape(3, 2)

    def __call__(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what stands at these places of the order."""
        numbers = self._map(places.astype(np.uint64))
        beyond = np.flatnonzero(numbers >= self.size)
        while len(beyond):
            again = self._map(numbers[beyond])
            numbers[beyond] = again
            beyond = beyond[again >= self.size]
        return numbers.astype(np.int64)

    def _map(self, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        upper, lower = numbers >> self._lower_bits, numbers & self._lower
        for first, second in self._keys:
            upper ^= _scrambled(lower, first) & self._upper
            lower ^= _scrambled(upper, second) & self._lower
        return (upper << self._lower_bits) | lower


def _scrambled(half: NDArray[np.uint64], key: np.uint64) -> NDArray[np.uint64]:
    mixed = (half + key) * FIRST
    mixed ^= mixed >> WORD
    return (mixed * SECOND) >> WORD

"""Which pairs have the key of an earlier one: decided over a whole corpus, in memory that does not grow with it."""

import numpy as np
from numpy.typing import NDArray

KEYS_AT_ONCE = 2_000_000
"""Keys compared in memory at once, in some 80 MB."""
STEP = 1 << 20
"""Keys read at once."""


def first_only(keys: NDArray[np.uint64], kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Mark pairs that are kept and have the key of an earlier kept one as not kept; return their numbers, in order.

    `keys` may be a file mapped into memory. Keys are hashes of 64 bits: among 100 million different ones, two are the
    same with a probability of 3 in 10,000. Equal keys share their remainder, so the keys are compared remainder by
    remainder, each time by a stable sort that leaves the first of equal ones in front.
    """
    groups = max(1, -(-int(kept.sum()) // KEYS_AT_ONCE))
    repeated = [_repeated(*_group(keys, kept, groups, group)) for group in range(groups)]
    dropped = np.sort(np.concatenate(repeated))
    kept[dropped] = False
    return dropped


def _group(
    keys: NDArray[np.uint64], kept: NDArray[np.bool_], groups: int, group: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the kept keys of a remainder, and the numbers of their pairs."""
    found, numbers = [], []
    for begin in range(0, len(keys), STEP):
        some = keys[begin : begin + STEP]
        chosen = kept[begin : begin + STEP] & (some % np.uint64(groups) == group)
        found.append(some[chosen])
        numbers.append(np.flatnonzero(chosen) + begin)
    return np.concatenate([np.empty(0, np.uint64), *found]), np.concatenate([np.empty(0, np.int64), *numbers])


def _repeated(keys: NDArray[np.uint64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    repeated: NDArray[np.int64] = numbers[order[1:][ordered[1:] == ordered[:-1]]]
    return repeated

"""What prepare reports of the pieces of training pairs: how many a sentence has, which are used, which most."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtkit.corpus.segmenters import Segmenter
from nmtkit.corpus.vocabulary import BOS, EOS, PAD
from nmtkit.data.tensors import Lengths

MOST_FREQUENT = 50
"""Pieces listed."""
RARE = 100
"""A piece met less often than this is hardly learned."""
STEP = 1 << 20
"""Lengths counted at once."""


def side_report(lengths: Lengths, frequencies: NDArray[np.int64], segmenter: Segmenter) -> dict[str, Any]:
    """Return what there is to say of a side.

    `lengths` counts the sentences of 0, 1, 2 … pieces.
    """
    most = np.argsort(-frequencies, kind="stable")[:MOST_FREQUENT].tolist()
    return {
        "lengths": length_counts(lengths),
        "most_frequent": [
            {"piece": piece, "id": id_, "count": int(frequencies[id_])}
            for id_, piece in zip(most, segmenter.pieces(most), strict=True)
            if frequencies[id_]
        ],
    }


def coverage(frequencies: Sequence[NDArray[np.int64]], *, joint: bool) -> list[dict[str, int]]:
    """Return, for each vocabulary (one where joint), how many of its pieces could occur and how many do, and rarely.

    All could but padding, begin and end mark. What occurs less than RARE times is rare.
    """
    together = [frequencies[0] + frequencies[1]] if joint else frequencies
    counts = [np.delete(side, [PAD, BOS, EOS]) for side in together]
    return [
        {"pieces": len(side), "used": int((side > 0).sum()), "rare": int(((side > 0) & (side < RARE)).sum())}
        for side in counts
    ]


def length_counts(lengths: Lengths) -> list[int]:
    """Return how many sentences have 0, 1, 2 … pieces."""
    counts = np.zeros(int(lengths.max(initial=0)) + 1, np.int64)
    for begin in range(0, len(lengths), STEP):
        counts += np.bincount(lengths[begin : begin + STEP], minlength=len(counts))
    return [int(count) for count in counts]

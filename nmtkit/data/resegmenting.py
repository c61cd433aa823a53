"""Resegmenting: the text of training pairs cut into pieces anew for each epoch. Imports no torch.

Stored ids are read back to text and segmented by a draw from (seed, epoch, side, pair), so that a training that was
interrupted goes on with the same pieces, whatever batches, order or processes it goes on with.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtkit.corpus.draws import line_seeds
from nmtkit.corpus.segmenters import Segmenter
from nmtkit.data.settings import SamplingConfig

Ids = NDArray[np.integer[Any]]


class SideResegmenter:
    """Resegments the sentences of one side (0 source, 1 target). Raises ConfigError where the vocabulary cannot."""

    def __init__(self, segmenter: Segmenter, config: SamplingConfig, *, seed: int, side: int) -> None:
        self._segmenter = segmenter
        self._sampler = segmenter.sampler(dropout=config.dropout, alpha=config.alpha)
        self._seed, self._side = seed, side
        self._tags = frozenset(segmenter.tags.values())

    def __call__(self, sentences: Sequence[Ids], places: Sequence[int], epoch: int) -> list[Ids]:
        """Return sentences, given by their stored ids and their places in the store, in pieces of this epoch.

        Tags before a sentence stay. A text that segments to other ids than are stored, as one of bytes that make no
        character would, is left as it is.
        """
        stored = [ids.tolist() for ids in sentences]
        begins = [self._first_piece(ids) for ids in stored]
        bare = [ids[begin:] for ids, begin in zip(stored, begins, strict=True)]
        texts = self._segmenter.decode(bare)
        drawn = self._sampler.sample(texts, line_seeds(self._seed, epoch, self._side, places))
        return [
            np.array([*ids[:begin], *new], np.int64) if again == ids[begin:] else sentence
            for sentence, ids, begin, new, again in zip(
                sentences, stored, begins, drawn, self._segmenter.encode(texts), strict=True
            )
        ]

    def _first_piece(self, ids: Sequence[int]) -> int:
        begin = 0
        while begin < len(ids) and ids[begin] in self._tags:
            begin += 1
        return begin


class Resegmenter(NamedTuple):
    """What becomes of each side; None leaves its ids as they are stored."""

    source: SideResegmenter | None
    target: SideResegmenter | None


def build_resegmenter(source: Segmenter, target: Segmenter, config: SamplingConfig, *, seed: int) -> Resegmenter | None:
    """Return what the settings ask for, or None where that is nothing. Raises ConfigError as SideResegmenter does."""
    if not config.is_on:
        return None
    return Resegmenter(
        SideResegmenter(source, config, seed=seed, side=0) if config.source else None,
        SideResegmenter(target, config, seed=seed, side=1) if config.target else None,
    )

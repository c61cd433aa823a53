"""Sampling: one of the many ways to cut a text into pieces, drawn at random, a pure function of the text and a seed.

A sample is a walk: at each node of a word's graph a number is drawn that chooses the way on; `ways` has the graphs of
each kind of model. They are made once a word, as far as walks have come, so a draw is nearly all that is left.
The draws of a line depend on its seed and nothing else: not on its neighbours, nor on threads or processes.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nmtkit.corpus.draws import uniforms

if TYPE_CHECKING:
    from nmtkit.corpus.pieces import WordSegmenter

Spell = Callable[[str], tuple[int, ...]]
"""The ids of a character that has no piece."""

MOST_NODES = 400_000
"""Nodes kept, about 200 MB."""
LONGEST_SAMPLED = 256
"""Characters of the longest word that is sampled; a longer one is segmented as ever."""
LONGEST_KEPT = 40
"""Characters of the longest word whose graph is kept."""


class Node:
    """A place in the graph of a part of a word.

    A draw u of [0, 1) takes option k where u lies between the k-th and the next of `cumulative`: it gains the ids of
    `gains[k]` and leads to `nexts[k]`, None at the end. A gain is None as long as no walk has come there.
    """

    __slots__ = ("cumulative", "gains", "ids", "nexts", "places", "steps", "symbols")

    def __init__(
        self, cumulative: Sequence[float], gains: list[tuple[int, ...] | None], nexts: "list[Node | None]"
    ) -> None:
        self.cumulative, self.gains, self.nexts = cumulative, gains, nexts
        self.steps = 0
        """How many first options lead from here to the end; 0 where nobody has counted."""
        self.ids: tuple[int, ...] = ()
        """The ids gained on that way."""
        self.symbols: tuple[str, ...] = ()
        """What a part is cut into here, and `places` where two of these can be joined: for those who grow."""
        self.places: list[int] = []


class Ways(ABC):
    """The ways to cut a part of a word into pieces, with their probabilities."""

    @abstractmethod
    def root(self, part: str) -> Node:
        """Return where the walks through a part begin."""

    @abstractmethod
    def best(self, part: str) -> list[int]:
        """Return the ids of a part as the segmenter gives them without a draw."""

    def grow(self, node: Node, option: int) -> None:
        """Make an option where no walk has come yet."""
        raise NotImplementedError


class Sampler:
    """Segments lines anew for every seed."""

    def __init__(self, segmenter: "WordSegmenter", ways: Ways) -> None:
        self._segmenter, self._ways = segmenter, ways
        self._roots: dict[str, list[Node]] = {}
        self._nodes = 0

    def sample(self, lines: Sequence[str], seeds: NDArray[np.uint64]) -> list[list[int]]:
        """Return the ids of each line, drawn from its seed."""
        # No word takes more draws than it has characters, the space before it counted.
        sizes = [len(line) + 1 for line in lines]
        draws, starts = uniforms(seeds, sizes), list(accumulate(sizes, initial=0))[:-1]
        return [self._sample(line, draws, start) if line else [] for line, start in zip(lines, starts, strict=True)]

    def _sample(self, line: str, draws: list[float], at: int) -> list[int]:
        if self._nodes > MOST_NODES:
            self._roots, self._nodes = {}, 0
        ids, roots = list[int](), self._roots
        for word in line.split(" "):
            for root in roots.get(word) or self._root(word):
                if root.steps and max(draws[at : at + root.steps]) < root.cumulative[0]:
                    at += root.steps
                    ids += root.ids
                    continue
                node: Node | None = root
                while node is not None:
                    chosen = 0
                    if node.cumulative:
                        chosen = bisect_right(node.cumulative, draws[at])
                        at += 1
                    ids += node.gains[chosen] or self._grown(node, chosen)
                    node = node.nexts[chosen]
        return self._segmenter.joined(ids)

    def _root(self, word: str) -> list[Node]:
        if len(word) > LONGEST_SAMPLED:
            return [Node((), [self._segmenter.segment_word(word)], [None])]
        parts = self._segmenter.parts(word)
        roots = [Node((), [part], [None]) if isinstance(part, tuple) else self._ways.root(part) for part in parts]
        if len(word) <= LONGEST_KEPT:
            self._roots[word] = roots
            self._nodes += 1 if roots[0].steps else len(word) + 1
        return roots

    def _grown(self, node: Node, option: int) -> tuple[int, ...]:
        if node.gains[option] is None:
            self._nodes += 1
            self._ways.grow(node, option)
        return node.gains[option] or ()

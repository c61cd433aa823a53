"""Sampling: one of the many ways to cut a text into pieces, drawn at random, a pure function of the text and a seed.

Kudo (2018) samples from a unigram model over pieces, Provilkov et al. (2020) leave merges of BPE out (BPE-dropout), and
Hiraoka (2022) longest matches (MaxMatch-dropout). All three are walks: at each node of a word's graph a number is drawn
that chooses the way on. Graphs are made once a word, as far as walks have come, so a draw is nearly all that is left.
The draws of a line depend on its seed and nothing else: not on its neighbours, nor on threads or processes.
"""

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
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
_ROOM = 1 << 20
"""More than a part has places."""


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


class BpeWays(Ways):
    """The ways of byte-pair encoding when each merge that can be made is passed over with probability `dropout`.

    Provilkov et al. (2020), algorithm 1: before every merge each pair that could be merged is left out with that
    probability, and the best of the others is merged; where all are left out, that is the end.
    """

    def __init__(self, pieces: Mapping[str, tuple[int, float]], spell: Spell, dropout: float) -> None:
        self._ids_of = {piece: (id_,) for piece, (id_, _) in pieces.items()}
        self._spell = spell
        scores = sorted({score for _, score in pieces.values()}, reverse=True)
        ranks = {score: rank * _ROOM for rank, score in enumerate(scores)}
        self._ranks = {piece: ranks[score] for piece, (_, score) in pieces.items()}
        # The k-th best merge is made where the k before it are left out; the last option is to make none.
        self._cumulative = [
            tuple(1 - dropout ** (place + 1) for place in range(count)) for count in range(LONGEST_SAMPLED + 1)
        ]

    def root(self, part: str) -> Node:
        """Return where the walks through a part begin."""
        root = self._node(tuple(part))
        # Most walks pass over no merge: for these no other node is made.
        symbols = self._all_merged(part)
        root.steps, root.ids = len(part) - len(symbols), self._ids(symbols)
        return root

    def best(self, part: str) -> list[int]:
        """Return the ids of a part, every merge made."""
        return list(self._ids(self._all_merged(part)))

    def grow(self, node: Node, option: int) -> None:
        """Make the merge that an option stands for, or the end."""
        if option < len(node.places):
            node.gains[option], node.nexts[option] = (), self._node(_merged(node.symbols, node.places[option] % _ROOM))
        else:
            node.gains[option] = self._ids(node.symbols)

    def _node(self, symbols: tuple[str, ...]) -> Node:
        count = len(places := self._places(symbols))
        node = Node(self._cumulative[count], [None] * (count + 1), [None] * (count + 1))
        node.symbols, node.places = symbols, places
        return node

    def _all_merged(self, part: str) -> tuple[str, ...]:
        symbols = tuple(part)
        while places := self._places(symbols):
            symbols = _merged(symbols, places[0] % _ROOM)
        return symbols

    def _places(self, symbols: tuple[str, ...]) -> list[int]:
        """Return where two symbols can be merged, best first: each place behind its rank, in one number."""
        rank_of, found, before = self._ranks.get, [], symbols[0]
        for place, symbol in enumerate(symbols[1:]):
            rank = rank_of(before + symbol)
            if rank is not None:
                found.append(rank + place)
            before = symbol
        found.sort()
        return found

    def _ids(self, symbols: tuple[str, ...]) -> tuple[int, ...]:
        ids: list[int] = []
        for symbol in symbols:
            ids += self._ids_of.get(symbol) or self._spell(symbol)
        return tuple(ids)


class UnigramWays(Ways):
    """The ways of a unigram model: a cut has the probability of its pieces, multiplied, to the power of `alpha`.

    Kudo (2018), section 3.2, over all cuts (l = ∞): forward filtering, backward sampling, here from the other end.
    """

    def __init__(
        self, pieces: Mapping[str, tuple[int, float]], spell: Spell, alpha: float, unknown_score: float
    ) -> None:
        self._pieces = {piece: ((id_,), score) for piece, (id_, score) in pieces.items()}
        self._spell, self._alpha, self._unknown = spell, alpha, unknown_score
        self._longest = max(map(len, pieces), default=1)

    def root(self, part: str) -> Node:
        """Return where the walks through a part begin."""
        logs = [0.0] * (len(part) + 1)
        nodes: list[Node | None] = [None] * (len(part) + 1)
        for begin in reversed(range(len(part))):
            edges = self._edges(part, begin)
            weights = [self._alpha * score + logs[end] for end, _, score in edges]
            highest = max(weights)
            shares = [math.exp(weight - highest) for weight in weights]
            total = math.fsum(shares)
            logs[begin] = highest + math.log(total)
            cumulative = tuple(share / total for share in accumulate(shares[:-1]))
            nodes[begin] = Node(cumulative, [ids for _, ids, _ in edges], [nodes[end] for end, _, _ in edges])
        root = nodes[0]
        assert root is not None, "a part is never empty"
        return root

    def best(self, part: str) -> list[int]:
        """Return the ids of the likeliest cut of a part."""
        scores = [0.0] + [-math.inf] * len(part)
        before: list[tuple[int, tuple[int, ...]]] = [(0, ())] * (len(part) + 1)
        for begin in range(len(part)):
            for end, ids, score in self._edges(part, begin):
                if scores[begin] + score > scores[end]:
                    scores[end], before[end] = scores[begin] + score, (begin, ids)
        found: list[int] = []
        end = len(part)
        while end:
            end, ids = before[end]
            found[:0] = ids
        return found

    def _edges(self, part: str, begin: int) -> list[tuple[int, tuple[int, ...], float]]:
        """Return the pieces that begin at a place, shortest first: their ends, ids and scores."""
        edges: list[tuple[int, tuple[int, ...], float]] = []
        character = part[begin]
        if character not in self._pieces:
            edges.append((begin + 1, self._spell(character), self._unknown))
        for end in range(begin + 1, min(begin + self._longest, len(part)) + 1):
            piece = self._pieces.get(part[begin:end])
            if piece is not None:
                edges.append((end, *piece))
        return edges


class GreedyWays(Ways):
    """The ways of longest-match segmentation when each match but the shortest is passed over with `dropout`.

    Hiraoka (2022), "MaxMatch-Dropout: Subword Regularization for WordPiece".
    """

    def __init__(self, pieces: Mapping[str, int], spell: Spell, dropout: float) -> None:
        self._pieces = {piece: (id_,) for piece, id_ in pieces.items()}
        self._spell, self._dropout = spell, dropout
        self._longest = max(map(len, pieces), default=1)

    def root(self, part: str) -> Node:
        """Return where the walks through a part begin."""
        nodes: list[Node | None] = [None] * (len(part) + 1)
        for begin in reversed(range(len(part))):
            matches = self._matches(part, begin)
            cumulative = tuple(1 - self._dropout ** (place + 1) for place in range(len(matches) - 1))
            nodes[begin] = Node(cumulative, [ids for _, ids in matches], [nodes[end] for end, _ in matches])
        root = nodes[0]
        assert root is not None, "a part is never empty"
        return root

    def best(self, part: str) -> list[int]:
        """Return the ids of the longest matches, from left to right."""
        found: list[int] = []
        pieces, longest, begin = self._pieces, self._longest, 0
        while begin < len(part):
            for end in range(min(begin + longest, len(part)), begin, -1):
                ids = pieces.get(part[begin:end])
                if ids is not None:
                    found += ids
                    break
            else:
                found += self._spell(part[begin])
            begin = end
        return found

    def _matches(self, part: str, begin: int) -> list[tuple[int, tuple[int, ...]]]:
        """Return the ends and ids of the pieces that begin at a place, longest first."""
        matches: list[tuple[int, tuple[int, ...]]] = []
        for end in range(min(begin + self._longest, len(part)), begin, -1):
            ids = self._pieces.get(part[begin:end])
            if ids is not None:
                matches.append((end, ids))
        return matches or [(begin + 1, self._spell(part[begin]))]


def _merged(symbols: tuple[str, ...], place: int) -> tuple[str, ...]:
    return (*symbols[:place], symbols[place] + symbols[place + 1], *symbols[place + 2 :])

"""Ways: the graphs of all the cuts of a word into pieces, for each kind of model.

Kudo (2018) samples from a unigram model over pieces, Provilkov et al. (2020) leave merges of BPE out (BPE-dropout), and
Hiraoka (2022) longest matches (MaxMatch-dropout).
"""

import math
from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from itertools import accumulate, chain

from nmtkit.corpus.sampling import LONGEST_SAMPLED, Node, Spell, Ways

_ROOM = 1 << 20
"""More than a part has places."""


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
        """Return what is left when every merge is made, the best first, of equals the one furthest to the left."""
        symbols, end = list(part), len(part)
        before, after = list(range(-1, end - 1)), list(range(1, end + 1))

        def rank(place: int) -> int | None:
            there = place >= 0 and symbols[place] and after[place] < end
            return self._ranks.get(symbols[place] + symbols[after[place]]) if there else None

        due = [(own, place) for place in range(end) if (own := rank(place)) is not None]
        heapify(due)
        while due:
            best, place = heappop(due)
            if rank(place) != best:  # one of the two was merged meanwhile
                continue
            other = after[place]
            symbols[place] += symbols[other]
            symbols[other], after[place] = "", after[other]
            if after[place] < end:
                before[after[place]] = place
            for changed in (before[place], place):
                if (own := rank(changed)) is not None:
                    heappush(due, (own, changed))
        return tuple(filter(None, symbols))

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
        found: list[tuple[int, ...]] = []
        end = len(part)
        while end:
            end, ids = before[end]
            found.append(ids)
        return list(chain.from_iterable(reversed(found)))

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

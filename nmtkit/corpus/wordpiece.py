"""WordPiece: pieces that raise the likelihood of the corpus most, found one by one, pair by pair.

Schuster and Nakajima (2012), section 3: begin with the characters; of all pairs of neighbouring units take the one
that, joined to a new unit, raises the likelihood of the training text most; repeat. Wu et al. (2016), section 4.1,
build theirs in this way. The likelihood here is that of a unigram model of the units, and its gain is taken exactly:
with c(x) the count of a unit, N the count of all, n the count of the pair and f(z) = z log z, the text has the
log-likelihood Σ f(c) - f(N), so that joining x and y gains

    f(n) + f(c(x) - n) - f(c(x)) + f(c(y) - n) - f(c(y)) + f(N) - f(N - n).

The ratio n / (c(x) c(y)), by which this method is often told, is not this gain: it ranks a pair seen once above all
that matters. Ties go to the pair that was there first, those of characters in the order of their code points.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtkit.corpus.segmenters import LONGEST_PIECE

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_NO_PAIRS: Integers = np.zeros(0, np.int64)


def learn_pieces(words: Mapping[str, int], alphabet: Sequence[str], most: int) -> list[str]:
    """Return the alphabet and the pieces joined from it, in the order found, `most` together.

    `words` are the different words with their counts; a piece lies within a word and has at most LONGEST_PIECE
    characters. There are fewer pieces than `most` where no pair that is left gains anything.
    """
    if not words:
        return list(alphabet)
    corpus = _Corpus(words, alphabet)
    while len(corpus.pieces) < most:
        best = corpus.best_pair()
        if best is None:
            break
        corpus.join(*best)
    return corpus.pieces


class _Corpus:
    """All words as chains of pieces, and for each pair of neighbours its count, its places and its gain."""

    def __init__(self, words: Mapping[str, int], alphabet: Sequence[str]) -> None:
        self.pieces = list(alphabet)
        self._ids = {piece: id_ for id_, piece in enumerate(self.pieces)}
        self._read(words)
        self._counts = np.zeros(max(1_024, 2 * len(alphabet)), np.int64)
        known = self._piece >= 0
        counted = np.bincount(self._piece[known], self._weight[known], len(alphabet))
        self._counts[: len(alphabet)] = counted.astype(np.int64)
        self._total = int(self._counts.sum())
        self._pairs = 0
        self._left, self._right, self._times, self._joins = (np.zeros(1_024, np.int64) for _ in range(4))
        self._gain: Floats = np.full(1_024, -np.inf)
        self._pair_of: dict[tuple[int, int], int] = {}
        self._places: list[list[Integers]] = []
        self._touching: list[list[int]] = [[] for _ in alphabet]
        self._times_counted: dict[int, int] = {}
        self._add(np.flatnonzero(known[:-1] & known[1:]))
        self._count_doubles(range(len(alphabet)))
        self._refresh(np.arange(self._pairs))

    def _read(self, words: Mapping[str, int]) -> None:
        """Lay all words out in one row, a gap behind each; characters without a piece are gaps too."""
        text = "\0".join(words) + "\0"
        codes = np.frombuffer(text.encode("utf-32-le"), "<u4")
        piece_of = np.full(0x110000, -1, np.int32)
        for character, id_ in self._ids.items():
            piece_of[ord(character)] = id_
        self._piece = piece_of[codes]
        lengths = np.fromiter((len(word) + 1 for word in words), np.int64, len(words))
        self._weight = np.repeat(np.fromiter(words.values(), np.int64, len(words)), lengths)
        self._next = np.arange(1, len(codes) + 1, dtype=np.int32)
        self._previous = np.arange(-1, len(codes) - 1, dtype=np.int32)

    def best_pair(self) -> tuple[int, int] | None:
        """Return the pieces of the pair that gains most, or None where none gains anything."""
        while True:
            pair = int(np.argmax(self._gain[: self._pairs])) if self._pairs else -1
            if pair < 0 or self._gain[pair] <= 0:
                return None
            # Fewer pieces in all lower every gain, so an old gain is never too low: this one must still be the highest.
            before, now = float(self._gain[pair]), self._gain_of(pair)
            self._gain[pair] = now
            if now >= before:
                return int(self._left[pair]), int(self._right[pair])

    def join(self, left: int, right: int) -> None:
        """Make the pair a piece, and join whatever neighbours make up this piece, until none do."""
        piece = self.pieces[left] + self.pieces[right]
        new = self._ids[piece] = len(self.pieces)
        self.pieces.append(piece)
        self._touching.append([])
        if new == len(self._counts):
            self._counts = _doubled(self._counts)
        changed = {new}
        due = self._making(piece)
        while due:
            pair = due.pop()
            if not self._times[pair]:
                continue
            left, right = int(self._left[pair]), int(self._right[pair])
            made = self._ids[self.pieces[left] + self.pieces[right]]
            due += self._replace(pair, left, right, made)
            changed |= {left, right, made}
        self._count_doubles(changed)
        touching = [self._living(piece) for piece in sorted(changed)]
        self._refresh(np.concatenate(touching))

    def _making(self, piece: str) -> list[int]:
        """Return the pairs of neighbours that make up a piece."""
        ids = [(self._ids.get(piece[:cut]), self._ids.get(piece[cut:])) for cut in range(1, len(piece))]
        pairs = [self._pair_of.get((left, right)) for left, right in ids if left is not None and right is not None]
        return [pair for pair in pairs if pair is not None and self._times[pair]]

    def _living(self, piece: int) -> Integers:
        """Return the pairs with a piece that occur; forget those that do not any more."""
        pairs = np.array(self._touching[piece], np.int64)
        living = pairs[self._times[pairs] > 0]
        if len(living) < len(pairs):
            self._touching[piece] = living.tolist()
        return living

    def _replace(self, pair: int, left: int, right: int, new: int) -> list[int]:
        """Put a piece in the place of a pair wherever it stands; return the pairs due after that."""
        places = self._standing(pair)
        self._places[pair] = []
        seconds = self._next[places]
        gone = self._edges(self._previous[places], places, seconds)
        self._count(gone, -1)
        self._piece[places], self._piece[seconds] = new, -1
        thirds = self._next[seconds]
        self._next[places] = thirds
        self._previous[thirds[thirds < len(self._piece)]] = places[thirds < len(self._piece)]
        joined = int(self._weight[places].sum())
        self._counts[left] -= joined
        self._counts[right] -= joined
        self._counts[new] += joined
        self._total -= joined
        return self._add(self._edges(self._previous[places], places))

    def _edges(self, *places: NDArray[Any]) -> Integers:
        """Return which of the places begin a pair of neighbours, each once."""
        candidates = np.sort(np.concatenate(places))
        first = np.append(True, candidates[1:] != candidates[:-1])[: len(candidates)]
        candidates = candidates[first & (candidates >= 0)].astype(np.int64)
        behind = self._next[candidates]
        inside = behind < len(self._piece)
        candidates, behind = candidates[inside], behind[inside]
        edges: Integers = candidates[(self._piece[candidates] >= 0) & (self._piece[behind] >= 0)]
        return edges

    def _count(self, edges: Integers, sign: int) -> None:
        """Add to or take from the counts of the pairs that begin at places."""
        for pair_of_ids, _, weight in self._grouped(edges):
            pair = self._pair_of.get(pair_of_ids)
            if pair is not None:
                self._times[pair] += sign * weight
                if not self._times[pair]:
                    self._gain[pair], self._places[pair] = -np.inf, []

    def _add(self, edges: Integers) -> list[int]:
        """Enter pairs that have come to be at these places; return those that make up a piece already."""
        due = []
        for (left, right), places, weight in self._grouped(edges):
            pair = self._pair_of.get((left, right))
            if pair is None:
                if len(self.pieces[left]) + len(self.pieces[right]) > LONGEST_PIECE:
                    continue
                pair = self._new_pair(left, right)
            self._times[pair] += weight
            self._places[pair].append(places)
            if self.pieces[left] + self.pieces[right] in self._ids:
                due.append(pair)
        return due

    def _count_doubles(self, pieces: Iterable[int]) -> None:
        """Count how often pieces can be joined with themselves: of the two pairs in "aaa" only one can."""
        for piece in pieces:
            pair = self._pair_of.get((piece, piece))
            if pair is not None and self._times[pair] != self._times_counted.get(pair):
                self._times_counted[pair] = int(self._times[pair])
                self._joins[pair] = self._weight[self._standing(pair)].sum()

    def _standing(self, pair: int) -> Integers:
        """Return the places where a pair can be joined."""
        places = np.concatenate([*self._places[pair], _NO_PAIRS])
        left, right = self._left[pair], self._right[pair]
        places = places[(self._piece[places] == left) & (self._piece[self._next[places]] == right)]
        return _apart(np.sort(places), self._next) if left == right else places

    def _new_pair(self, left: int, right: int) -> int:
        pair = self._pairs
        if pair == len(self._gain):
            arrays = (self._left, self._right, self._times, self._joins)
            self._left, self._right, self._times, self._joins = map(_doubled, arrays)
            self._gain = np.concatenate([self._gain, np.full(pair, -np.inf)])
        self._left[pair], self._right[pair] = left, right
        self._pair_of[left, right] = pair
        self._places.append([])
        for piece in {left, right}:
            self._touching[piece].append(pair)
        self._pairs += 1
        return pair

    def _grouped(self, edges: Integers) -> list[tuple[tuple[int, int], Integers, int]]:
        """Return the different pairs that begin at places, in order, each with its places and its count."""
        if not len(edges):
            return []
        left, right = self._piece[edges].astype(np.int64), self._piece[self._next[edges]].astype(np.int64)
        keys = left << 32 | right
        order = np.argsort(keys, kind="stable")
        keys, edges = keys[order], edges[order]
        starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        weights = np.add.reduceat(self._weight[edges], starts).tolist()
        firsts = keys[starts].tolist()
        places = np.split(edges, starts[1:]) if len(starts) > 1 else [edges]
        return [
            ((key >> 32, key & 0xFFFFFFFF), place, weight)
            for key, place, weight in zip(firsts, places, weights, strict=True)
        ]

    def _gain_of(self, pair: int) -> float:
        """Return the gain of a pair as the counts are now, without the price of an array for one number."""
        left, right, total = int(self._left[pair]), int(self._right[pair]), self._total
        first, second = int(self._counts[left]), int(self._counts[right])
        if left == right:
            joined = int(self._joins[pair])
            lost = _f(first) - _f(first - 2 * joined)
        else:
            joined = int(self._times[pair])
            lost = _f(first) - _f(first - joined) + _f(second) - _f(second - joined)
        return _f(joined) - lost + _f(total) - _f(total - joined)

    def _refresh(self, pairs: Integers) -> None:
        """Compute the gains of pairs as the counts are now."""
        left, right = self._left[pairs], self._right[pairs]
        first, second = self._counts[left], self._counts[right]
        double = left == right
        joined = np.where(double, self._joins[pairs], self._times[pairs])
        apart = _fall(first, joined) + _fall(second, joined)
        lost = np.where(double, _fall(first, 2 * joined), apart)
        gain = _entropy(joined) - lost + _fall(np.full(len(pairs), self._total), joined)
        self._gain[pairs] = np.where(joined > 0, gain, -np.inf)


def _f(count: int) -> float:
    return count * math.log(count) if count else 0.0


def _entropy(counts: Integers) -> Floats:
    """Return z log z, 0 for 0."""
    logs: Floats = np.multiply(counts, np.log(np.maximum(counts, 1)))
    return logs


def _fall(counts: Integers, less: Integers) -> Floats:
    """Return f(z) - f(z - n), f(z) = z log z, for n from 0 to z."""
    rest = counts - less
    share = np.minimum(less / np.maximum(counts, 1), 1 - 2**-53)
    fall: Floats = less * np.log(np.maximum(counts, 1)) - rest * np.log1p(-share)
    return fall


def _apart(places: Integers, behind: NDArray[np.int32]) -> Integers:
    """Return the places of pairs of a piece with itself that do not overlap, from left to right."""
    taken: set[int] = set()
    kept = []
    for place, second in zip(places.tolist(), behind[places].tolist(), strict=True):
        if place not in taken:
            kept.append(place)
            taken.add(second)
    return np.array(kept, np.int64)


def _doubled(array: Integers) -> Integers:
    return np.concatenate([array, np.zeros_like(array)])

"""Differences between two sentences: which tokens are in both, moved, alike but for some letters, or only in one.

Tokens are paired by the alignment of greatest weight that keeps their order (a longest common subsequence in which
words weigh more than marks, and words that are alike less than equal ones). What remains unpaired on both sides has
moved.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from nmtkit.analysis.tokens import is_word

Mark = Literal["same", "near", "moved", "only"]

ALIKE = 0.6
"""The share of the longer word's letters that must be equal, from the beginning on or up to the end."""
SHORTEST = 3
"""Letters of the longer word below which equal ones say nothing."""
MOST_ALIKE = 10_000
"""Pairs of tokens beyond which similar words are not looked for: what is so long is no sentence."""
SAME_WORD, SAME_MARK, ALIKE_WORD = 4, 2, 1


class Likeness(NamedTuple):
    """What a token is to the other sentence; of one that is near, the characters from `begin` to `end` differ."""

    mark: Mark
    begin: int = 0
    end: int = 0


SAME, MOVED, ONLY = Likeness("same"), Likeness("moved"), Likeness("only")


def compare(ours: Sequence[str], theirs: Sequence[str]) -> tuple[list[Likeness], list[Likeness]]:
    """Return the likeness of each token of both sentences. White space belongs in neither."""
    here, there = [ONLY] * len(ours), [ONLY] * len(theirs)
    for place, other in _aligned(ours, theirs):
        if ours[place] == theirs[other]:
            here[place] = there[other] = SAME
        elif both := alike(ours[place], theirs[other]):
            here[place], there[other] = both
    _mark_moved(ours, theirs, here, there)
    return here, there


def alike(ours: str, theirs: str) -> tuple[Likeness, Likeness] | None:
    """Return where two words differ that are alike; None for other words."""
    longer = max(len(ours), len(theirs))
    if longer < SHORTEST or not (is_word(ours) and is_word(theirs)):
        return None
    begin = _common(ours, theirs)
    while begin and any(_is_mark(word[begin]) for word in (ours, theirs) if begin < len(word)):
        begin -= 1  # a mark is not cut from its letter
    rest = min(len(ours), len(theirs)) - begin
    tail = _common(ours[: -rest - 1 : -1], theirs[: -rest - 1 : -1]) if rest else 0
    while tail and _is_mark(ours[-tail]):
        tail -= 1
    if begin + tail < ALIKE * longer and ours.casefold() != theirs.casefold():
        return None
    return Likeness("near", begin, len(ours) - tail), Likeness("near", begin, len(theirs) - tail)


def _common(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """Return how many elements are equal from the beginning on."""
    shorter = min(len(ours), len(theirs))
    return next((place for place in range(shorter) if ours[place] != theirs[place]), shorter)


def _is_mark(character: str) -> bool:
    return category(character).startswith("M")


def _aligned(ours: Sequence[str], theirs: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of paired tokens; equal ones at both ends are paired with each other."""
    begin = _common(ours, theirs)
    rest = min(len(ours), len(theirs)) - begin
    tail = _common(ours[: -rest - 1 : -1], theirs[: -rest - 1 : -1]) if rest else 0
    here, there = ours[begin : len(ours) - tail], theirs[begin : len(theirs) - tail]
    within = [(begin + place, begin + other) for place, other in _heaviest(_weights(here, there))]
    ends = [(len(ours) - back, len(theirs) - back) for back in range(tail, 0, -1)]
    return [(place, place) for place in range(begin)] + within + ends


def _weights(ours: Sequence[str], theirs: Sequence[str]) -> NDArray[np.int32]:
    """Return the weight of each pair of tokens, zero where they cannot be paired."""
    ids: dict[str, int] = {}
    here, there = ([ids.setdefault(token, len(ids)) for token in side] for side in (ours, theirs))
    equal = np.asarray(here, np.int64)[:, None] == np.asarray(there, np.int64)[None, :]
    weight = np.array([SAME_WORD if is_word(token) else SAME_MARK for token in ours], np.int32)
    weights = np.where(equal, weight[:, None], np.int32(0))
    if weights.size <= MOST_ALIKE:
        edges = [[(token[0].casefold(), token[-1].casefold()) for token in side] for side in (ours, theirs)]
        for place, (first, last) in enumerate(edges[0]):
            for other, (begin, end) in enumerate(edges[1]):
                # words that differ at both ends are not alike, and this is quickly seen
                if (first == begin or last == end) and not equal[place, other] and alike(ours[place], theirs[other]):
                    weights[place, other] = ALIKE_WORD
    return weights


def _heaviest(weights: NDArray[np.int32]) -> list[tuple[int, int]]:
    """Return the pairs, in order on both sides, with the greatest sum of weights."""
    rows, columns = weights.shape
    best = np.zeros((rows + 1, columns + 1), np.int32)
    for row in range(rows):
        np.maximum.accumulate(np.maximum(best[row, 1:], best[row, :-1] + weights[row]), out=best[row + 1, 1:])
    pairs = []
    row, column = rows, columns
    while row and column:
        weight = weights[row - 1, column - 1]
        if weight and best[row, column] == best[row - 1, column - 1] + weight:
            row, column = row - 1, column - 1
            pairs.append((row, column))
        elif best[row - 1, column] == best[row, column]:
            row -= 1
        else:
            column -= 1
    return pairs[::-1]


def _mark_moved(ours: Sequence[str], theirs: Sequence[str], here: list[Likeness], there: list[Likeness]) -> None:
    """Mark words that are on both sides, but not in one order. Single characters are everywhere: they do not count."""
    left = [Counter(_unpaired(side, marks)) for side, marks in ((ours, here), (theirs, there))]
    both = left[0] & left[1]
    for side, marks in ((ours, here), (theirs, there)):
        remaining = both.copy()
        for place, token in enumerate(side):
            if marks[place] is ONLY and remaining[token]:
                marks[place] = MOVED
                remaining[token] -= 1


def _unpaired(side: Sequence[str], marks: Sequence[Likeness]) -> list[str]:
    return [
        token for token, mark in zip(side, marks, strict=True) if mark is ONLY and len(token) > 1 and is_word(token)
    ]

"""Rankings: the lines that a system translated worst, and those where systems are furthest apart."""

from collections.abc import Sequence
from typing import NamedTuple

from nmtkit.analysis.texts import Texts

MOST = 50


class Comparison(NamedTuple):
    """Two systems, by their places, and in how many lines the one scores higher, the other, or neither.

    `same` are the lines of which both gave the very same translation.
    """

    first: int
    second: int
    first_higher: int
    second_higher: int
    equal: int
    same: int


def worst(texts: Texts, scores: Sequence[float], system: int, most: int = MOST) -> list[int]:
    """Return the lines with the lowest scores, the lowest first; of equal ones those with more to translate.

    Blank translations and perfect ones are left out: a list of either says nothing.
    """
    lines = [
        line
        for line, score in enumerate(scores)
        if not texts.systems[system][line].blank and texts.systems[system][line].text != _closest(texts, system, line)
    ]
    return sorted(lines, key=lambda line: (scores[line], -texts.measured[line].size, line))[:most]


def _closest(texts: Texts, system: int, line: int) -> str:
    return texts.references[texts.closest(system, line)][line].text


def furthest_apart(scores: Sequence[Sequence[float]], most: int = MOST) -> list[int]:
    """Return the lines where the highest and the lowest score of a system differ most; none where none differ."""
    gaps = [max(line) - min(line) for line in zip(*scores, strict=True)]
    return sorted((line for line, gap in enumerate(gaps) if gap > 0), key=lambda line: (-gaps[line], line))[:most]


def comparisons(texts: Texts, scores: Sequence[Sequence[float]]) -> list[Comparison]:
    """Return each pair of systems, line by line."""
    found = []
    for first in range(len(scores)):
        for second in range(first + 1, len(scores)):
            both = list(zip(scores[first], scores[second], strict=True))
            pairs = zip(texts.systems[first], texts.systems[second], strict=True)
            higher, lower = sum(one > other for one, other in both), sum(one < other for one, other in both)
            same = sum(one.text == other.text for one, other in pairs)
            found.append(Comparison(first, second, higher, lower, len(both) - higher - lower, same))
    return found

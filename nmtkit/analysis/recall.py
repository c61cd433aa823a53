"""Words: which ones of the references systems find, by how often training saw them, and which they miss or put in."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nmtkit.analysis.groups import CLASSES, Class, class_of
from nmtkit.analysis.texts import Line, Texts

MOST_WORDS = 16
OFTEN = 3
"""Times that a word must occur to be called missed or put in."""
SURPRISING = 2.0
"""Standard deviations above what a word of its frequency would be missed."""


class Matches(NamedTuple):
    """Words of a system: of `wanted` in the references and `given` in the hypotheses, `found` are in both."""

    wanted: Counter[str]
    given: Counter[str]
    found: Counter[str]


class Found(NamedTuple):
    """Words in numbers: how many the references have, how many the hypotheses have, and how many are in both."""

    wanted: int
    given: int
    found: int

    @property
    def recall(self) -> float:
        """The share of the words of the references that are found, in percent."""
        return 100 * self.found / self.wanted if self.wanted else 0.0

    @property
    def precision(self) -> float:
        """The share of the words of the hypotheses that are in the references, in percent."""
        return 100 * self.found / self.given if self.given else 0.0


class Often(NamedTuple):
    """A word, as it is mostly written, that stands on one side only, `times` of the `all` times that it is there."""

    word: str
    times: int
    all: int


def matches(texts: Texts, system: int) -> Matches:
    """Return the words of a system, each line compared with its closest reference, order not counting."""
    wanted, given, found = Counter[str](), Counter[str](), Counter[str]()
    for line, hypothesis in enumerate(texts.systems[system]):
        reference = texts.references[texts.closest(system, line)][line]
        theirs, ours = Counter(reference.words), Counter(hypothesis.words)
        wanted.update(theirs)
        given.update(ours)
        found.update(theirs & ours)
    return Matches(wanted, given, found)


def by_class(words: Matches, counts: Mapping[str, int]) -> list[tuple[Class, Found]]:
    """Return the words of each class of CLASSES (Neubig et al. 2019); classes without words are left out.

    Those of the references have their class by `counts`, and so have those of the hypotheses.
    """
    sums = [[0, 0, 0] for _ in CLASSES]
    for place, side in enumerate(words):
        for word, count in side.items():
            sums[class_of(counts.get(word, 0))][place] += count
    return [(class_, Found(*some)) for class_, some in zip(CLASSES, sums, strict=True) if any(some)]


def missed(words: Matches, texts: Texts) -> list[Often]:
    """Return words of the references that a system misses more often than it misses others."""
    return _conspicuous(words.wanted, words.found, texts.references)


def put_in(words: Matches, texts: Texts, system: int) -> list[Often]:
    """Return words of the hypotheses that are without a place in the references more often than others."""
    return _conspicuous(words.given, words.found, [texts.systems[system]])


def _conspicuous(whole: Counter[str], found: Counter[str], sides: Sequence[Sequence[Line]]) -> list[Often]:
    """Return words that are not found surprisingly often, were each not found with the same probability."""
    total = whole.total()
    rate = 1 - found.total() / total if total else 0.0
    if not 0 < rate < 1:
        return []

    def surprise(word: str) -> float:
        times = whole[word]
        return (times - found[word] - rate * times) / math.sqrt(rate * (1 - rate) * times)

    some = [word for word, times in whole.items() if times - found[word] >= OFTEN and surprise(word) >= SURPRISING]
    some = sorted(some, key=lambda word: (-surprise(word), word))[:MOST_WORDS]
    written = _written(some, sides)
    return [Often(written[word], whole[word] - found[word], whole[word]) for word in some]


def _written(words: Sequence[str], sides: Sequence[Sequence[Line]]) -> dict[str, str]:
    """Return how words, given in lower case, are mostly written."""
    forms: dict[str, Counter[str]] = {word: Counter() for word in words}
    for lines in sides:
        for line in lines:
            for token in line.tokens:
                if (form := forms.get(token.casefold())) is not None:
                    form[token] += 1
    return {word: form.most_common(1)[0][0] for word, form in forms.items()}

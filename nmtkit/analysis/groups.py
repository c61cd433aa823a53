"""Groups of lines: by how long they are, by how rare their rarest word is, by what they are labelled with."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from nmtkit.analysis.texts import Line
from nmtkit.analysis.tokens import words

MOST_LENGTHS = 8
"""Groups of lengths, about; more are not told apart at a glance."""
WITHIN = 0.98
"""The share of lines whose lengths are told apart; the longest form the last group."""
STEPS = (1, 2, 5)


class Group(NamedTuple):
    """Lines that have something in common, numbered from 0."""

    label: str
    lines: list[int]


class Class(NamedTuple):
    """Counts from `least` to that of the next class, and how people write them."""

    least: int
    label: str


CLASSES = (
    Class(0, "0"),
    Class(1, "1"),
    Class(2, "2–4"),
    Class(5, "5–9"),
    Class(10, "10–99"),
    Class(100, "100–999"),
    Class(1_000, "1k–9k"),
    Class(10_000, "10k+"),
)
"""Classes of words by how often training saw them."""


def by_length(lines: Sequence[Line]) -> list[Group]:
    """Return the lines by their words, in steps of 1, 2, 5, 10 …; groups without lines are left out."""
    lengths = [len(line.words) for line in lines]
    common = sorted(lengths)[max(0, round(WITHIN * len(lengths)) - 1)]
    step = nice(common / MOST_LENGTHS)
    last = -(-common // step)

    def place(length: int) -> int:
        return 0 if not length else min(-(-length // step), last + 1)

    def label(number: int) -> str:
        if not number:
            return "0"
        return span((number - 1) * step + 1, number * step if number <= last else None)

    return _grouped([place(length) for length in lengths], label)


def by_rarest_word(lines: Sequence[Line], counts: Mapping[str, int]) -> list[Group]:
    """Return the lines by the class of the word that `counts` has least often; lines without words are left out."""
    places = [class_of(min(counts.get(word, 0) for word in line.words)) if line.words else -1 for line in lines]
    return [
        group for group in _grouped(places, lambda place: CLASSES[place].label if place >= 0 else "") if group.label
    ]


def by_label(labels: Sequence[str]) -> list[Group]:
    """Return the lines of each label, in the order of the alphabet; those of no label in no group."""
    found: dict[str, list[int]] = {}
    for line, label in enumerate(labels):
        if label:
            found.setdefault(label, []).append(line)
    return [Group(label, found[label]) for label in sorted(found)]


def class_of(count: int) -> int:
    """Return the place in CLASSES of a count."""
    return max(place for place, class_ in enumerate(CLASSES) if count >= class_.least)


def count_words(lines: Iterable[str]) -> Counter[str]:
    """Return how often each word, in lower case, is in lines. What spaces part is cut into words only once."""
    parts = Counter[str]()
    for line in lines:
        parts.update(line.split())
    counts = Counter[str]()
    for part, times in parts.items():
        for word in words(part):
            counts[word] += times
    return counts


def span(least: int, most: int | None) -> str:
    """Return a stretch of whole numbers as people write it."""
    if most is None:
        return f"{least:,}+"
    return f"{least:,}" if least == most else f"{least:,}–{most:,}"


def nice(least: float) -> int:
    """Return the smallest of 1, 2, 5, 10, 20, 50 … that is not less."""
    scale = 1
    while True:
        for step in STEPS:
            if step * scale >= least:
                return step * scale
        scale *= 10


def _grouped(places: Sequence[int], label: Callable[[int], str]) -> list[Group]:
    found: dict[int, list[int]] = {}
    for line, place in enumerate(places):
        found.setdefault(place, []).append(line)
    return [Group(label(place), found[place]) for place in sorted(found)]

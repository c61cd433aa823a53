"""Profile: what the text of a corpus is like. Words are counted in every line, all else in a sample of its pairs."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Self

import numpy as np

from nmtkit.corpus.filters.mismatches import Numbers

LOOKED_AT = 3_000
"""Pairs of each corpus that are looked at closely, about: enough to see a share of one in a hundred."""

_NUMBERS = Numbers(minimum_digits=2)
_TWO_DIGITS = re.compile(r"\d\d")
_CLOSING = " \"'»«”“’‘›‹)]}」』）】》〉"
_FINAL = frozenset(".!?…‼⁇⁈⁉。！？．｡؟۔।॥።፧։།༎။။៖។")
_SCRIPT_OF_NAME = {"CJK": "Han", "OL": "Ol_Chiki", "MEETEI": "Meetei_Mayek"}
_NO_SCRIPT = frozenset(("MODIFIER", "MICRO", "FEMININE", "MASCULINE", "FULLWIDTH", "HALFWIDTH", "MATHEMATICAL"))


@dataclass
class SideProfile:
    """One side. `words` counts the lines of 0, 1, 2 … words, all others the lines that were looked at.

    `cased` have letters of which there are capitals, `capital` have a capital, `ended` end as sentences do; `scripts`
    counts letters; `lost` are the lines that do not come back whole from the way to ids and back.
    """

    words: list[int] = field(default_factory=list)
    cased: int = 0
    capital: int = 0
    ended: int = 0
    lost: int = 0
    scripts: dict[str, int] = field(default_factory=dict)

    def look(self, lines: Sequence[str], returned: Sequence[str]) -> None:
        """Count lines; `returned` are those that came back from ids."""
        for line, back in zip(lines, returned, strict=True):
            capital = line != line.lower()
            self.capital += capital
            self.cased += capital or line != line.upper()
            self.ended += is_ended(line)
            self.lost += line != back
        for character, count in Counter("".join(lines)).items():
            if script := script_of(character):
                self.scripts[script] = self.scripts.get(script, 0) + count

    def merge(self, later: "SideProfile") -> None:
        """Add another stretch of the corpus."""
        self.words = added(self.words, later.words)
        for name in ("cased", "capital", "ended", "lost"):
            setattr(self, name, getattr(self, name) + getattr(later, name))
        for script, count in later.scripts.items():
            self.scripts[script] = self.scripts.get(script, 0) + count


@dataclass
class Profile:
    """Both sides of the pairs of a corpus. Of `looked_at` pairs, `with_numbers` hold some, in `numbers_differ` others.

    Numbers are those of two digits and more.
    """

    pairs: int = 0
    looked_at: int = 0
    with_numbers: int = 0
    numbers_differ: int = 0
    source: SideProfile = field(default_factory=SideProfile)
    target: SideProfile = field(default_factory=SideProfile)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """Return what `asdict` made and a file of JSON held."""
        sides = {side: SideProfile(**content[side]) for side in ("source", "target")}
        return cls(**{**content, **sides})

    def count_words(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        """Count pairs and the words of both sides."""
        self.pairs += len(sources)
        self.source.words = added(self.source.words, word_counts(sources))
        self.target.words = added(self.target.words, word_counts(targets))

    def look(self, sources: Sequence[str], targets: Sequence[str], back: tuple[Sequence[str], Sequence[str]]) -> None:
        """Look closely at pairs; `back` are both sides as they came back from ids."""
        self.looked_at += len(sources)
        self.source.look(sources, back[0])
        self.target.look(targets, back[1])
        find = _TWO_DIGITS.search
        numbers = [pair for pair in zip(sources, targets, strict=True) if find(pair[0]) or find(pair[1])]
        self.with_numbers += len(numbers)
        self.numbers_differ += len(_NUMBERS.dropped([pair[0] for pair in numbers], [pair[1] for pair in numbers]))

    def merge(self, later: "Profile") -> None:
        """Add another stretch of the corpus."""
        for name in ("pairs", "looked_at", "with_numbers", "numbers_differ"):
            setattr(self, name, getattr(self, name) + getattr(later, name))
        self.source.merge(later.source)
        self.target.merge(later.target)


def stride_for(pairs: int) -> int:
    """Return the odd number that divides the numbers of about LOOKED_AT of the lines of a corpus of this size."""
    return max(1, pairs // LOOKED_AT) | 1


def word_counts(lines: Sequence[str]) -> list[int]:
    """Return how many lines have 0, 1, 2 … words, which spaces part. No line holds a line feed.

    A word begins where a byte that is neither space nor line feed follows one that is: this costs a hundred
    nanoseconds a line, where splitting it costs six times as many.
    """
    if not lines:
        return []
    data = np.frombuffer("\n".join(["", *lines, ""]).encode("utf-8", "surrogatepass"), np.uint8)
    ends = data == 0x0A
    gaps = ends | (data == 0x20)
    begins = gaps[:-1] > gaps[1:]
    counts = np.add.reduceat(begins, np.flatnonzero(ends)[:-1], dtype=np.int64)
    return [int(count) for count in np.bincount(counts)]


def added(counts: list[int], more: list[int]) -> list[int]:
    """Return the sums of two lists of counts, the shorter as if filled with zeros."""
    longer, shorter = (counts, more) if len(counts) >= len(more) else (more, counts)
    return [count + other for count, other in zip(longer, shorter, strict=False)] + longer[len(shorter) :]


def is_ended(line: str) -> bool:
    """Tell whether a line ends as sentences do: with a full stop or the like, quotes and brackets behind it or not."""
    return line.rstrip(_CLOSING)[-1:] in _FINAL


@cache
def script_of(character: str) -> str:
    """Return the script of a letter by its name in Unicode (Latin, Han …); empty for what belongs to none."""
    if not character.isalpha():
        return ""
    words = unicodedata.name(character, "").split()
    if not words or words[0] in _NO_SCRIPT:
        return ""
    return _SCRIPT_OF_NAME.get(words[0], words[0].title())

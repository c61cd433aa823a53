"""Filters of mismatches: numbers and addresses that stand on one side only."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from nmtkit.corpus.filters.base import Filter, FilterContext
from nmtkit.corpus.pair import SentencePair
from nmtkit.section import Section

# Groups of three digits are one number, whatever stands between them in a language; all else that stands between digits
# (a decimal point, a colon, a slash) parts numbers, so that 3.5 is 3,5, and 05/06/2010 is 5.6.2010.
_NUMBER = re.compile(r"(?<!\d)\d{1,3}(?:[.,'’٬ \xa0\u2009\u202f]\d{3})+(?!\d)|\d+")
_DIGIT = re.compile(r"\d")
_URL = re.compile(r"(?:https?|ftp)://[^\s<>\"“”«»]+|www\.[^\s<>\"“”«»]+", re.IGNORECASE)
_AFTER_URL = ".,;:!?…'’)]}»"


class NumbersConfig(Section):
    """Drop pairs whose sides do not hold the same numbers, in any order.

    How digits are grouped and decimals parted does not matter, nor do leading zeros: 1,234.50 is 1.234,50. Digits of
    all scripts are the same.
    """

    kind: Literal["numbers"] = "numbers"
    minimum_digits: int = Field(
        2, ge=1, description="Numbers of fewer digits are not compared: they are often written as words."
    )

    def build(self, context: FilterContext) -> Filter:  # noqa: ARG002
        """Return the filter."""
        return Numbers(self.minimum_digits)


class Numbers(Filter):
    """Drops sides with different numbers."""

    def __init__(self, minimum_digits: int) -> None:
        self._minimum = minimum_digits

    def objection(self, pair: SentencePair) -> str:
        """Return the numbers of each side that are not on the other."""
        source, target = (numbers(text, self._minimum) for text in pair)
        return _difference("numbers", source, target)

    def dropped(self, sources: Sequence[str], targets: Sequence[str]) -> list[int]:
        """Return the places of sides with different numbers."""
        find, least = _DIGIT.search, self._minimum
        pairs = enumerate(zip(sources, targets, strict=True))
        return [i for i, (s, t) in pairs if (find(s) or find(t)) and numbers(s, least) != numbers(t, least)]


def numbers(text: str, minimum_digits: int) -> list[str]:
    """Return the digits of each number that has enough of them, leading zeros not counting, sorted."""
    found = ("".join(map(_digit, _DIGIT.findall(number))).lstrip("0") for number in _NUMBER.findall(text))
    return sorted(number for number in found if len(number) >= minimum_digits)


class UrlsConfig(Section):
    """Drop pairs whose sides do not hold the same web addresses, in any order; case does not count."""

    kind: Literal["urls"] = "urls"

    def build(self, context: FilterContext) -> Filter:  # noqa: ARG002
        """Return the filter."""
        return Urls()


class Urls(Filter):
    """Drops sides with different addresses."""

    def objection(self, pair: SentencePair) -> str:
        """Return the addresses of each side that are not on the other."""
        return _difference("addresses", urls(pair.source), urls(pair.target))

    def dropped(self, sources: Sequence[str], targets: Sequence[str]) -> list[int]:
        """Return the places of sides with different addresses."""
        pairs = enumerate(zip(sources, targets, strict=True))
        return [i for i, (s, t) in pairs if (_may_hold_url(s) or _may_hold_url(t)) and urls(s) != urls(t)]


def _may_hold_url(text: str) -> bool:
    return "://" in text or "www." in text.lower()


def urls(text: str) -> list[str]:
    """Return the web addresses in a text, in lower case, sorted."""
    return sorted(url.rstrip(_AFTER_URL).casefold() for url in _URL.findall(text))


def _digit(character: str) -> str:
    return character if character.isascii() else str(unicodedata.decimal(character))


def _difference(what: str, source: list[str], target: list[str]) -> str:
    """Return what only one side holds, where the sides differ."""
    if source == target:
        return ""
    left, right = list(source), list(target)
    for element in source:
        if element in right:
            left.remove(element)
            right.remove(element)
    sides = [f"only in the {side}: {', '.join(rest)}" for side, rest in (("source", left), ("target", right)) if rest]
    return f"different {what}: {'; '.join(sides)}"

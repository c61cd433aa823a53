"""Filters by size: blank sides, words, characters, and how much longer one side is than the other."""

from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from nmtkit.corpus.filters.base import Filter, FilterContext, both_sides
from nmtkit.corpus.pair import SentencePair
from nmtkit.section import Conflict, Section


class BlankConfig(Section):
    """Drop pairs with nothing but white space on a side."""

    kind: Literal["blank"] = "blank"

    def build(self, context: FilterContext) -> Filter:  # noqa: ARG002  every filter may look at languages and tests
        """Return the filter."""
        return Blank()


class Blank(Filter):
    """Drops blank sides."""

    def objection(self, pair: SentencePair) -> str:
        """Return which side is blank."""
        return next((f"the {side} is blank" for side, text in both_sides(pair) if not text.strip()), "")

    def dropped(self, sources: Sequence[str], targets: Sequence[str]) -> list[int]:
        """Return the places of blank sides."""
        pairs = enumerate(zip(sources, targets, strict=True))
        return [i for i, (s, t) in pairs if not s or not t or s.isspace() or t.isspace()]


class LengthConfig(Section):
    """Drop pairs with too few or too many words (split at white space) on a side."""

    kind: Literal["length"] = "length"
    minimum: int = Field(1, ge=0, description="Fewest words on each side.")
    maximum: int = Field(250, ge=1, description="Most words on each side.")

    def conflicts(self) -> Iterator[Conflict]:
        """Report a range that holds nothing."""
        yield from _empty_range(self.minimum, self.maximum)

    def build(self, context: FilterContext) -> Filter:  # noqa: ARG002
        """Return the filter."""
        return Words(self.minimum, self.maximum)


class Words(Filter):
    """Drops too few or too many words."""

    def __init__(self, minimum: int, maximum: int) -> None:
        self._minimum, self._maximum = minimum, maximum

    def objection(self, pair: SentencePair) -> str:
        """Return the number of words."""
        return _out_of_range(pair, [len(side.split()) for side in pair], "words", self._minimum, self._maximum)

    def dropped(self, sources: Sequence[str], targets: Sequence[str]) -> list[int]:
        """Return the places of sides with too few or too many words."""
        least, most = self._minimum, self._maximum
        # n words have at least 2n - 1 characters, so words are counted only where there may be too many.
        long = 2 * most
        pairs = enumerate(zip(sources, targets, strict=True))
        if least > 1:
            counts = ((i, len(s.split()), len(t.split())) for i, (s, t) in pairs)
            return [i for i, s, t in counts if not (least <= s <= most and least <= t <= most)]
        return [
            i
            for i, (s, t) in pairs
            if (least and (not s or not t or s.isspace() or t.isspace()))
            or (len(s) > long and len(s.split()) > most)
            or (len(t) > long and len(t.split()) > most)
        ]


class CharactersConfig(Section):
    """Drop pairs with too few or too many characters on a side."""

    kind: Literal["characters"] = "characters"
    minimum: int = Field(1, ge=0, description="Fewest characters on each side.")
    maximum: int = Field(2_000, ge=1, description="Most characters on each side.")

    def conflicts(self) -> Iterator[Conflict]:
        """Report a range that holds nothing."""
        yield from _empty_range(self.minimum, self.maximum)

    def build(self, context: FilterContext) -> Filter:  # noqa: ARG002
        """Return the filter."""
        return Characters(self.minimum, self.maximum)


class Characters(Filter):
    """Drops too few or too many characters."""

    def __init__(self, minimum: int, maximum: int) -> None:
        self._minimum, self._maximum = minimum, maximum

    def objection(self, pair: SentencePair) -> str:
        """Return the number of characters."""
        return _out_of_range(pair, list(map(len, pair)), "characters", self._minimum, self._maximum)

    def dropped(self, sources: Sequence[str], targets: Sequence[str]) -> list[int]:
        """Return the places of sides with too few or too many characters."""
        least, most = self._minimum, self._maximum
        sizes = enumerate(zip(map(len, sources), map(len, targets), strict=True))
        return [i for i, (s, t) in sizes if not (least <= s <= most and least <= t <= most)]


class RatioConfig(Section):
    """Drop pairs of which one side has many times the characters (or words) of the other."""

    kind: Literal["ratio"] = "ratio"
    maximum: float = Field(9.0, gt=1, description="Largest ratio, longer over shorter side.")
    unit: Literal["characters", "words"] = Field("characters", description="What is counted.")

    def build(self, context: FilterContext) -> Filter:  # noqa: ARG002
        """Return the filter."""
        return Ratio(self)


class Ratio(Filter):
    """Drops sides of very different sizes."""

    def __init__(self, config: RatioConfig) -> None:
        self._maximum, self._unit = config.maximum, config.unit

    def objection(self, pair: SentencePair) -> str:
        """Return the sizes of both sides."""
        source, target = (len(side) if self._unit == "characters" else len(side.split()) for side in pair)
        if max(source, target) <= self._maximum * min(source, target):
            return ""
        return f"{source} {self._unit} against {target}: a ratio of more than maximum = {self._maximum:g}"

    def dropped(self, sources: Sequence[str], targets: Sequence[str]) -> list[int]:
        """Return the places of sides of very different sizes."""
        most = self._maximum
        if self._unit == "words":
            sources, targets = [side.split() for side in sources], [side.split() for side in targets]  # type: ignore[misc]
        sizes = enumerate(zip(map(len, sources), map(len, targets), strict=True))
        return [i for i, (s, t) in sizes if s > most * t or t > most * s]


def _empty_range(minimum: int, maximum: int) -> Iterator[Conflict]:
    if minimum > maximum:
        yield Conflict("minimum", f"{minimum} is more than maximum = {maximum}; nothing would be kept")


def _out_of_range(pair: SentencePair, sizes: Sequence[int], unit: str, minimum: int, maximum: int) -> str:
    """Return which side is too short or too long, and the limit."""
    for (side, _), size in zip(both_sides(pair), sizes, strict=True):
        if size > maximum:
            return f"the {side} has {size} {unit}, more than maximum = {maximum}"
        if size < minimum:
            return f"the {side} has {size} {unit}, less than minimum = {minimum}"
    return ""

"""Filters of copies: the same text on both sides, pairs that repeat others, pairs that stand in the test."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from nmtkit.corpus.filters.base import Duplicates, Filter, FilterContext, both_sides
from nmtkit.corpus.filters.folding import Folding
from nmtkit.corpus.pair import SentencePair
from nmtkit.section import Section


class SameConfig(Section):
    """Drop pairs with the same text on both sides: most of them were never translated."""

    kind: Literal["same"] = "same"
    case: bool = Field(True, description="Upper and lower case are the same.")
    punctuation: bool = Field(
        True, description="Only letters and digits count, not punctuation, symbols and white space."
    )
    minimum_words: int = Field(1, ge=1, description="Texts of fewer words may be the same: names, numbers.")

    def build(self, context: FilterContext) -> Filter:  # noqa: ARG002
        """Return the filter."""
        return Same(self)


class Same(Filter):
    """Drops the same text on both sides."""

    def __init__(self, config: SameConfig) -> None:
        self._fold = Folding(config.case, config.punctuation)
        self._words = config.minimum_words

    def objection(self, pair: SentencePair) -> str:
        """Return that both sides are the same."""
        words = len(pair.source.split())
        if words < self._words or self._fold(pair.source) != self._fold(pair.target):
            return ""
        return f"both sides are the same text of {words} words, at least minimum_words = {self._words}"

    def dropped(self, sources: Sequence[str], targets: Sequence[str]) -> list[int]:
        """Return the places of the same text on both sides."""
        folded = zip(self._fold.lines(list(sources)), self._fold.lines(list(targets)), strict=True)
        same = [i for i, (s, t) in enumerate(folded) if s == t]
        return [i for i in same if len(sources[i].split()) >= self._words]


class DuplicateConfig(Section):
    """Drop pairs that repeat an earlier one, of this or an earlier corpus; decided after all other filters.

    Only `prepare.max_pieces` comes later: of equal sides whose first pair is too long on the other one, none is left.
    """

    kind: Literal["duplicate"] = "duplicate"
    by: Literal["pair", "source", "target"] = Field(
        "pair", description="What must be repeated: both sides, or one, whatever stands on the other."
    )
    case: bool = Field(False, description="Upper and lower case are the same.")
    punctuation: bool = Field(
        False, description="Only letters and digits count, not punctuation, symbols and white space."
    )
    digits: bool = Field(False, description="All digits are the same.")

    def build(self, context: FilterContext) -> Duplicates:  # noqa: ARG002
        """Return what makes the keys."""
        return FoldedDuplicates(self)


class FoldedDuplicates(Duplicates):
    """Pairs repeat each other where the folded text of what is looked at is the same."""

    def __init__(self, config: DuplicateConfig) -> None:
        self._by = config.by
        self._fold = Folding(config.case, config.punctuation, config.digits)

    def key(self, pair: SentencePair) -> str:
        """Return the folded text; no side holds a line break, so none can be misread."""
        sides = pair if self._by == "pair" else (getattr(pair, self._by),)
        return "\n".join(self._fold(side) for side in sides)

    def texts(self, sources: Sequence[str], targets: Sequence[str]) -> list[str]:
        """Return the keys."""
        if self._by != "pair":
            return self._fold.lines(list(sources if self._by == "source" else targets))
        folded = zip(self._fold.lines(list(sources)), self._fold.lines(list(targets)), strict=True)
        return [f"{source}\n{target}" for source, target in folded]


class OverlapConfig(Section):
    """Drop training pairs of which a side stands in the development or a test set, so that scores mean something."""

    kind: Literal["overlap"] = "overlap"
    case: bool = Field(False, description="Upper and lower case are the same.")
    punctuation: bool = Field(
        False, description="Only letters and digits count, not punctuation, symbols and white space."
    )
    digits: bool = Field(False, description="All digits are the same.")

    def build(self, context: FilterContext) -> Filter:
        """Return the filter."""
        return Overlap(Folding(self.case, self.punctuation, self.digits), context.held_out)


class Overlap(Filter):
    """Drops what stands in the pairs of development and test sets."""

    def __init__(self, fold: Folding, held_out: Sequence[SentencePair]) -> None:
        self._fold = fold
        # A blank line in a test set says nothing about a blank training line: that is for the filter "blank".
        self._sides = tuple(
            frozenset(folded for text in side if (folded := fold(text)).strip())
            for side in ([pair.source for pair in held_out], [pair.target for pair in held_out])
        )

    def objection(self, pair: SentencePair) -> str:
        """Return which side stands in a development or test set."""
        for (side, text), held_out in zip(both_sides(pair), self._sides, strict=True):
            if self._fold(text) in held_out:
                return f"the {side} is one of the {len(held_out)} of the development and test sets"
        return ""

    def dropped(self, sources: Sequence[str], targets: Sequence[str]) -> list[int]:
        """Return the places of pairs of which a side stands in a development or test set."""
        in_sources, in_targets = self._sides
        folded = (self._fold.lines(list(sources)), self._fold.lines(list(targets)))
        if in_sources.isdisjoint(folded[0]) and in_targets.isdisjoint(folded[1]):
            return []
        pairs = enumerate(zip(*folded, strict=True))
        return [i for i, (source, target) in pairs if source in in_sources or target in in_targets]

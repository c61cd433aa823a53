"""Filters: each keeps or drops a pair as a unit. One class and one name in the union adds one."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Literal

from pydantic import Field

from nmtkit.corpus.hash_set import HashSet
from nmtkit.corpus.pair import SentencePair
from nmtkit.section import Conflict, Section

Filter = Callable[[SentencePair], bool]
"""True keeps the pair. May remember pairs it saw, in order; is made anew for each run over the corpora."""


class BlankConfig(Section):
    """Drop pairs with nothing but white space on a side."""

    kind: Literal["blank"] = "blank"

    def build(self, held_out: Iterable[SentencePair]) -> Filter:  # noqa: ARG002  every filter may look at held-out pairs
        """Return the filter."""
        return lambda pair: bool(pair.source.strip()) and bool(pair.target.strip())


class LengthConfig(Section):
    """Drop pairs with too few or too many words (split at white space) on a side."""

    kind: Literal["length"] = "length"
    minimum: int = Field(1, ge=0, description="Fewest words on each side.")
    maximum: int = Field(250, ge=1, description="Most words on each side.")

    def conflicts(self) -> Iterator[Conflict]:
        """Report a range that holds nothing."""
        if self.minimum > self.maximum:
            yield Conflict("minimum", f"{self.minimum} is more than maximum = {self.maximum}; nothing would be kept")

    def build(self, held_out: Iterable[SentencePair]) -> Filter:  # noqa: ARG002
        """Return the filter."""
        return lambda pair: all(self.minimum <= len(side.split()) <= self.maximum for side in pair)


class RatioConfig(Section):
    """Drop pairs of which one side has many times the characters of the other."""

    kind: Literal["ratio"] = "ratio"
    maximum: float = Field(9.0, gt=1, description="Largest ratio of characters, longer over shorter side.")

    def build(self, held_out: Iterable[SentencePair]) -> Filter:  # noqa: ARG002
        """Return the filter."""

        def keep(pair: SentencePair) -> bool:
            shorter, longer = sorted((len(pair.source), len(pair.target)))
            return longer <= self.maximum * shorter

        return keep


class DuplicateConfig(Section):
    """Drop pairs that were seen before, both sides the same."""

    kind: Literal["duplicate"] = "duplicate"

    def build(self, held_out: Iterable[SentencePair]) -> Filter:  # noqa: ARG002
        """Return the filter; it remembers a hash of 8 bytes for each pair."""
        seen = HashSet()

        def keep(pair: SentencePair) -> bool:
            # Not hash(): Python salts it anew for each process. No side holds a line break, so none can be misread.
            digest = hashlib.blake2b("\n".join(pair).encode("utf-8", "surrogatepass"), digest_size=8).digest()
            return seen.add(int.from_bytes(digest, "little"))

        return keep


class OverlapConfig(Section):
    """Drop training pairs of which a side stands in the development or a test set, so that scores mean something."""

    kind: Literal["overlap"] = "overlap"

    def build(self, held_out: Iterable[SentencePair]) -> Filter:
        """Return the filter. `held_out` are the pairs of development and test sets, normalised."""
        # A blank line in a test set says nothing about a blank training line: that is for the filter "blank".
        pairs = list(held_out)
        sources = {pair.source for pair in pairs if pair.source.strip()}
        targets = {pair.target for pair in pairs if pair.target.strip()}
        return lambda pair: pair.source not in sources and pair.target not in targets


FilterConfig = Annotated[
    BlankConfig | LengthConfig | RatioConfig | DuplicateConfig | OverlapConfig, Field(discriminator="kind")
]

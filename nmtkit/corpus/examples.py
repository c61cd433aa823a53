"""Examples: some pairs of a corpus in words, before and after cleaning, drawn while it is read and never twice."""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from nmtkit.corpus.lines import clean
from nmtkit.corpus.pair import SentencePair

if TYPE_CHECKING:
    from nmtkit.corpus.blocks import Block
    from nmtkit.corpus.chunk_cleaning import ChunkCleaner, CleanChunk

INVALID = "invalid_utf8"
"""The reason of pairs dropped because a side is not UTF-8; every other reason is a filter's kind."""
DRAWN = 24
"""Kept pairs drawn: more than are shown, since some may yet turn out as duplicates or too long."""
DROPPED = 3
"""Dropped pairs kept for each reason: the first."""
LONGEST = 1_000
"""Characters of the longest side of a kept pair that is shown."""
CUT = 300
"""Characters of a dropped pair that are shown."""


@dataclass
class KeptExample:
    """A kept pair, raw and clean. `order` is a hash of its line: those with the smallest are drawn."""

    order: int
    line: int
    raw_source: str
    raw_target: str
    source: str
    target: str


@dataclass
class DroppedExample:
    """A dropped pair, raw, and what spoke against it."""

    line: int
    source: str
    target: str
    objection: str


@dataclass
class Examples:
    """Pairs drawn from a corpus: kept ones at random, and the first that were dropped for each reason."""

    kept: list[KeptExample] = field(default_factory=list)
    dropped: dict[str, list[DroppedExample]] = field(default_factory=dict)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """Return what `asdict` made and a file of JSON held."""
        dropped = {reason: [DroppedExample(**one) for one in some] for reason, some in content["dropped"].items()}
        return cls([KeptExample(**one) for one in content["kept"]], dropped)

    def merge(self, later: "Examples") -> None:
        """Add those of a part of the corpus that comes later."""
        self.kept = sorted([*self.kept, *later.kept], key=lambda one: one.order)[:DRAWN]
        for reason, some in later.dropped.items():
            mine = self.dropped.setdefault(reason, [])
            mine += some[: DROPPED - len(mine)]

    def forget(self, lines: Collection[int]) -> None:
        """Take away kept pairs that were dropped later."""
        self.kept = [one for one in self.kept if one.line not in lines]


def examples_of(block: "Block", chunk: "CleanChunk", cleaner: "ChunkCleaner") -> Examples:
    """Return the examples of a block, which became a chunk."""
    return Examples(_kept(block, chunk), _dropped(block, chunk, cleaner))


def shortened(text: str) -> str:
    """Return the beginning of a text that is long."""
    return text if len(text) <= CUT else f"{text[:CUT]}…"


def _kept(block: "Block", chunk: "CleanChunk") -> list[KeptExample]:
    orders = _hashes(chunk.lines)
    first = np.argpartition(orders, DRAWN)[:DRAWN] if len(orders) > DRAWN else np.arange(len(orders))
    examples = []
    for place in sorted(first.tolist(), key=orders.__getitem__):
        line, source, target = int(chunk.lines[place]), chunk.sources[place], chunk.targets[place]
        raw_source, raw_target = _raw(block, bisect_left(block.numbers, line))
        if max(map(len, (source, target, raw_source, raw_target))) <= LONGEST:
            examples.append(KeptExample(int(orders[place]), line, raw_source, raw_target, source, target))
    return examples


def _dropped(block: "Block", chunk: "CleanChunk", cleaner: "ChunkCleaner") -> dict[str, list[DroppedExample]]:
    examples: dict[str, list[DroppedExample]] = {}
    for reason, drops in chunk.counts.drops.items():
        for line in drops.first_lines[:DROPPED]:
            place = bisect_left(block.numbers, line)
            if block.numbers[place : place + 1] and block.numbers[place] == line:  # else it is no pair
                source, target = _raw(block, place)
                objection = _objection(reason, source, target, cleaner)
                one = DroppedExample(line, shortened(source), shortened(target), objection)
                examples.setdefault(reason, []).append(one)
    return examples


def _objection(reason: str, source: str, target: str, cleaner: "ChunkCleaner") -> str:
    if reason == INVALID:
        return "bytes that are not UTF-8"
    return cleaner.explain(SentencePair(clean(source), clean(target))).objection


def _raw(block: "Block", place: int) -> Sequence[str]:
    """Return the text of both sides as it stands in the files; bad bytes show as U+FFFD."""
    return [raw[place].removesuffix(b"\r").decode("utf-8", "replace") for raw in (block.sources, block.targets)]


def _hashes(lines: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return numbers of 53 bits that look random (the finalizer of SplitMix64; Steele et al. 2014), one for each."""
    mixed = lines.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)

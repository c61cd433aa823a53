"""Cleaning: parallel texts, read, normalised and filtered, to the pairs that are kept, with a count of all others."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from nmtkit.corpus.filters import Filter, FilterConfig
from nmtkit.corpus.lines import Invalid
from nmtkit.corpus.normalizers import CountingChain
from nmtkit.corpus.pair import SentencePair
from nmtkit.corpus.reader import PairCounts, ParallelText
from nmtkit.corpus.settings import LanguagesConfig, PrepareConfig

FIRST_LINES = 5
"""Line numbers reported for each reason."""
INVALID = "invalid_utf8"
"""The reason of pairs dropped because a side is not UTF-8; every other reason is a filter's kind."""


class KeptPair(NamedTuple):
    """A clean pair and where it comes from: the place of its corpus in the configuration, and its line from 1."""

    corpus: int
    line: int
    pair: SentencePair


@dataclass
class Drops:
    """How many pairs were dropped for one reason, and the lines of the first."""

    count: int = 0
    first_lines: list[int] = field(default_factory=list)

    def add(self, line: int) -> None:
        """Count one more."""
        self.count += 1
        if len(self.first_lines) < FIRST_LINES:
            self.first_lines.append(line)


@dataclass
class CaseCounts:
    """How many lines have letters of which there are capitals, and how many of them have a capital."""

    cased: int = 0
    capital: int = 0

    def add(self, line: str) -> None:
        """Count a line."""
        capital = line != line.lower()
        self.capital += capital
        self.cased += capital or line != line.upper()


@dataclass
class CorpusCounts:
    """What became of one parallel text: read = kept + all drops."""

    name: str
    read: int = 0
    kept: int = 0
    drops: dict[str, Drops] = field(default_factory=dict)
    characters: PairCounts = field(default_factory=PairCounts)
    source_case: CaseCounts = field(default_factory=CaseCounts)
    target_case: CaseCounts = field(default_factory=CaseCounts)
    """Of the pairs that are kept."""

    def drop(self, reason: str, line: int) -> None:
        """Count a dropped pair."""
        self.drops.setdefault(reason, Drops()).add(line)


class Normalizers:
    """The normalizers of both sides, counting."""

    def __init__(self, config: PrepareConfig, languages: LanguagesConfig) -> None:
        self.kinds = [normalizer.kind for normalizer in config.normalizers]
        self.source = CountingChain(config.normalizers, languages.source)
        self.target = CountingChain(config.normalizers, languages.target)

    def __call__(self, pair: SentencePair) -> SentencePair:
        """Return the normalised pair."""
        return SentencePair(self.source(pair.source), self.target(pair.target))


class Cleaner:
    """Reads, normalises and filters texts, one after the other; filters remember across texts."""

    def __init__(self, config: PrepareConfig, normalize: Normalizers, held_out: Sequence[SentencePair]) -> None:
        self._normalize = normalize
        self._filters = build_filters(config.filters, held_out)
        self._invalid: Invalid = "mark" if config.invalid_utf8 == "drop" else "error"

    def no_drops(self) -> dict[str, Drops]:
        """Return a count of zero for each reason, in the order in which pairs are tried."""
        return {reason: Drops() for reason in (INVALID, *(reason for reason, _ in self._filters))}

    def __call__(self, text: ParallelText, place: int, counts: CorpusCounts) -> Iterator[KeptPair]:
        """Yield the pairs of a text that are kept; `place` is its place in the configuration."""
        for line, raw in enumerate(text.pairs(counts.characters, self._invalid), start=1):
            counts.read = line
            if raw is None:
                counts.drop(INVALID, line)
                continue
            pair = self._normalize(raw)
            for reason, keep in self._filters:
                if not keep(pair):
                    counts.drop(reason, line)
                    break
            else:
                counts.kept += 1
                counts.source_case.add(pair.source)
                counts.target_case.add(pair.target)
                yield KeptPair(place, line, pair)


def read_held_out(text: ParallelText, normalize: Normalizers, counts: CorpusCounts) -> Iterator[KeptPair]:
    """Yield the normalised pairs of a development or test set that have text on both sides; blank ones are counted.

    Raises EncodingError where a line is not UTF-8: no line of these is ever dropped, so none can be read otherwise.
    """
    for line, raw in enumerate(text.pairs(counts.characters), start=1):
        counts.read = line
        pair = normalize(raw)
        if pair.source.strip() and pair.target.strip():
            counts.kept += 1
            yield KeptPair(0, line, pair)
        else:
            counts.drop("blank", line)


def build_filters(configs: Sequence[FilterConfig], held_out: Iterable[SentencePair]) -> list[tuple[str, Filter]]:
    """Return each filter with the reason it is reported by: its kind, numbered where a kind comes twice."""
    held_out = list(held_out)
    kinds = [config.kind for config in configs]
    filters = []
    for place, config in enumerate(configs):
        number = f"_{kinds[: place + 1].count(config.kind)}" if kinds.count(config.kind) > 1 else ""
        filters.append((f"{config.kind}{number}", config.build(held_out)))
    return filters

"""ChunkCleaner: some thousand raw pairs at once to clean, normalised and filtered ones.

What Python does for each line, or each character, costs more than the rest of the work. So the lines of a side are
looked at as one text, and single lines only where something is to be done.
"""

from collections.abc import Sequence
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtkit.corpus.blocks import Block
from nmtkit.corpus.characters import CONTROLS, SEPARATORS, Lines, replace_all, unusual_in
from nmtkit.corpus.counts import INVALID, CleanCounts, Drops
from nmtkit.corpus.filters import FilterConfig, FilterContext, Filters
from nmtkit.corpus.lines import Invalid, LineCounts, Place, clean, decode
from nmtkit.corpus.normalizers import CountingChain
from nmtkit.corpus.pair import SentencePair
from nmtkit.corpus.settings import LanguagesConfig, PrepareConfig


class CleanChunk(NamedTuple):
    """The pairs of a chunk that every filter of single pairs keeps, and what became of all others.

    `lines` are the numbers of the pairs in their corpus. `keys` (pairs × filters of duplicates) are hashes: of pairs
    with the same key in a column the first may stay. `counts.kept` counts the pairs here, duplicates included.
    """

    sources: list[str]
    targets: list[str]
    lines: NDArray[np.int64]
    keys: NDArray[np.uint64]
    counts: CleanCounts


class Explanation(NamedTuple):
    """What becomes of a pair: each side after each normalizer, and the first filter that objects, with its reason.

    `reason` and `objection` are empty where none objects; then `keys` has the key for each filter of duplicates.
    """

    source: list[tuple[str, str]]
    target: list[tuple[str, str]]
    pair: SentencePair
    reason: str
    objection: str
    keys: dict[str, str]


class ChunkCleaner:
    """Cleans pairs of one corpus; can be pickled, and remembers nothing from chunk to chunk.

    `held_out` are the pairs of development and test sets, normalised; `filters` stand in for those of `config`.
    Raises ConfigError where a filter or normalizer does not know a language or lacks a library.
    """

    def __init__(
        self,
        config: PrepareConfig,
        languages: LanguagesConfig,
        held_out: Sequence[SentencePair] = (),
        filters: Sequence[FilterConfig] | None = None,
    ) -> None:
        self._settings = (config, languages, held_out, filters)
        context = FilterContext(languages.source, languages.target, held_out)
        self._filters = Filters(config.filters if filters is None else filters, context)
        self._source = CountingChain(config.normalizers, languages.source)
        self._target = CountingChain(config.normalizers, languages.target)
        self._invalid: Invalid = "mark" if config.invalid_utf8 == "drop" else "error"

    def __reduce__(self) -> tuple[Any, ...]:
        return ChunkCleaner, self._settings

    @property
    def reasons(self) -> list[str]:
        """The reasons that a pair can be dropped for, in the order in which it is tried; duplicates come last."""
        return [INVALID, *self._filters.reasons]

    @property
    def duplicates(self) -> list[str]:
        """The reasons of the filters of duplicates: what the columns of `CleanChunk.keys` are."""
        return list(self._filters.duplicates)

    def __call__(self, block: Block) -> CleanChunk:
        """Return the clean pairs of a block.

        Raises EncodingError, naming the line, where a side is not UTF-8 and such pairs are not to be dropped.
        """
        if len(block.sources) != len(block.targets):
            raise ValueError(f"{len(block.sources)} sources beside {len(block.targets)} targets")
        counts = CleanCounts(len(block.sources), drops={reason: Drops() for reason in self.reasons})
        for reason, number in block.left_out:
            counts.read += 1
            counts.drops.setdefault(reason, Drops()).add(number)
        source = _clean(block.sources, block.source_place, block.numbers, counts.source, self._invalid)
        target = _clean(block.targets, block.target_place, block.numbers, counts.target, self._invalid)
        pairs = _Pairs(block.numbers, source.lines, target.lines)
        if counts.source.invalid_lines or counts.target.invalid_lines:
            bad = [i for i, pair in enumerate(zip(pairs.sources, pairs.targets, strict=True)) if None in pair]
            pairs = pairs.without(bad, counts.drops[INVALID])
            source, target = Lines(pairs.sources), Lines(pairs.targets)
        pairs = _Pairs(
            pairs.numbers, self._source.lines(source, pairs.numbers), self._target.lines(target, pairs.numbers)
        )
        counts.source_changed, counts.target_changed = self._source.take(), self._target.take()
        for reason, filter_ in self._filters.alone.items():
            pairs = pairs.without(filter_.dropped(pairs.sources, pairs.targets), counts.drops[reason])
        counts.kept = len(pairs.numbers)
        lines = np.fromiter(pairs.numbers, np.int64, counts.kept)
        return CleanChunk(pairs.sources, pairs.targets, lines, self._keys(pairs), counts)

    def explain(self, pair: SentencePair) -> Explanation:
        """Return what becomes of a pair of clean lines."""
        source, target = self._source.forms(pair.source), self._target.forms(pair.target)
        normal = SentencePair(source[-1][1] if source else pair.source, target[-1][1] if target else pair.target)
        for reason, filter_ in self._filters.alone.items():
            if objection := filter_.objection(normal):
                return Explanation(source, target, normal, reason, objection, {})
        keys = {reason: duplicates.key(normal) for reason, duplicates in self._filters.duplicates.items()}
        return Explanation(source, target, normal, "", "", keys)

    def _keys(self, pairs: "_Pairs") -> NDArray[np.uint64]:
        columns = [
            np.frombuffer(duplicates.keys(pairs.sources, pairs.targets), np.uint64)
            for duplicates in self._filters.duplicates.values()
        ]
        return np.stack(columns, axis=1) if columns else np.empty((len(pairs.numbers), 0), np.uint64)


def _clean(raws: Sequence[bytes], place: Place, numbers: Sequence[int], counts: LineCounts, invalid: Invalid) -> Lines:
    """Return the clean text of raw lines, as `decode` and `clean` make it of each; None where one is not UTF-8."""
    joined = b"\n".join(raws)
    if b"\r" in joined:
        joined = joined.replace(b"\r\n", b"\n").removesuffix(b"\r")
    try:
        text = joined.decode("utf-8")
    except UnicodeDecodeError:
        return _clean_each(raws, place, numbers, counts, invalid)
    lines = text.split("\n") if raws else []
    if len(lines) != len(raws):
        return _clean_each(raws, place, numbers, counts, invalid)
    counts.lines += len(raws)
    unusual = unusual_in(joined)
    separators, controls = SEPARATORS & unusual, CONTROLS & unusual
    if not separators and not controls:
        return Lines(lines, joined, unusual)
    counts.separators_replaced, counts.first_separator = _met(text, separators, numbers)
    counts.controls_removed, counts.first_control = _met(text, controls, numbers)
    return Lines(replace_all(replace_all(text, separators, " "), controls, "").split("\n"))


def _clean_each(
    raws: Sequence[bytes], place: Place, numbers: Sequence[int], counts: LineCounts, invalid: Invalid
) -> Lines:
    texts: list[Any] = []
    for raw, number in zip(raws, numbers, strict=True):
        counts.lines += 1
        text = decode(raw, place, counts, invalid, number)
        texts.append(None if text is None else clean(text, counts, number))
    return Lines(texts)


def _met(text: str, characters: frozenset[str], numbers: Sequence[int]) -> tuple[int, int]:
    """Return how often characters stand in joined lines, and the number of the first line that has one (0: none)."""
    if not characters:
        return 0, 0
    first = min(text.find(character) for character in characters)
    return sum(map(text.count, characters)), numbers[text.count("\n", 0, first)]


class _Pairs(NamedTuple):
    """Pairs with the numbers of their lines; three columns of one length."""

    numbers: Sequence[int]
    sources: list[str]
    targets: list[str]

    def without(self, places: Sequence[int], drops: Drops) -> "_Pairs":
        """Return the pairs but for those at some places, in order, which are counted as drops."""
        if not places:
            return self
        drops.extend([self.numbers[place] for place in places])
        kept = bytearray(b"\1") * len(self.numbers)
        for place in places:
            kept[place] = 0
        return _Pairs(
            list(compress(self.numbers, kept)), list(compress(self.sources, kept)), list(compress(self.targets, kept))
        )

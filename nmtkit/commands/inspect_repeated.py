"""Which earlier pair a dropped duplicate repeats: looked for among the packed ids, else in the text itself."""

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile

import numpy as np

from nmtkit.commands.inspect_prepared import Prepared
from nmtkit.commands.prepare_text import worthwhile
from nmtkit.config import Config
from nmtkit.corpus.blocks import Block
from nmtkit.corpus.chunk_cleaning import ChunkCleaner, CleanChunk
from nmtkit.corpus.cleaning import CorpusCleaner
from nmtkit.corpus.filters import DuplicateConfig
from nmtkit.corpus.reader import ParallelText
from nmtkit.corpus.vocabulary import UNK
from nmtkit.data.store import Sentences
from nmtkit.workers import Work, in_order, processors


class Repeated:
    """Looks for the first pair of a kind. `texts` opens a training corpus, by its place in the configuration."""

    def __init__(
        self,
        config: Config,
        texts: Callable[[int], ParallelText],
        cleaners: Sequence[CorpusCleaner],
        prepared: Prepared,
    ) -> None:
        self._config, self._texts, self._cleaners, self._prepared = config, texts, cleaners, prepared
        self._names = [files.name for files in config.corpus.train]

    def first(self, place: int, number: int, chunk: CleanChunk, ids: Sequence[Sequence[int]]) -> tuple[str, str]:
        """Return the filter that drops a pair as a duplicate, and which pair (CORPUS:LINE) it repeats; empty: none.

        The pair is line `number` of the corpus at `place`; it became a chunk of one, and these ids.
        """
        reasons = self._cleaners[place].clean.duplicates
        for column, (reason, kind) in enumerate(zip(reasons, self._kinds(place), strict=True)):
            exact = not (kind.case or kind.punctuation or kind.digits) and not any(UNK in some for some in ids)
            found = self._among_ids(kind, place, number, ids) if exact else ""
            found = found or self._in_text(kind, place, number, int(chunk.keys[0, column]))
            if found:
                return reason, found
        return "", ""

    def _kinds(self, place: int) -> list[DuplicateConfig]:
        filters = self._config.prepare.filters_of(self._config.corpus.train[place])
        return [kind for kind in filters if isinstance(kind, DuplicateConfig)]

    def _compared(self, kind: DuplicateConfig, place: int) -> list[int]:
        """Return the corpora, up to one, that a filter compares with each other."""
        return [other for other in range(place + 1) if kind in self._kinds(other)]

    def _among_ids(self, kind: DuplicateConfig, place: int, number: int, ids: Sequence[Sequence[int]]) -> str:
        """Return the first packed pair with these ids; without folding, the same text has the same ids."""
        store, segmenter = self._prepared.store, self._prepared.segmenters[0]
        for other in self._compared(kind, place):
            begin, end = self._prepared.range_of(self._names[other])
            if other == place:
                end = begin + int(np.searchsorted(self._prepared.lines[begin:end], number))
            tag = self._config.corpus.train[other].tag
            source = [*([segmenter.tag(tag)] if tag else []), *ids[0]]
            sides: list[tuple[Sentences, Sequence[int]]] = [(store.source, source), (store.target, ids[1])]
            if kind.by != "pair":
                sides = sides[:1] if kind.by == "source" else sides[1:]
            for candidate in _of_lengths(sides, begin, end):
                if all(side[candidate].tolist() == list(some) for side, some in sides):
                    return f"{self._names[other]}:{int(self._prepared.lines[candidate])}"
        return ""

    def _in_text(self, kind: DuplicateConfig, place: int, number: int, key: int) -> str:
        """Return the first pair with a key by cleaning the text again, up to the line in question."""
        for other in self._compared(kind, place):
            text, cleaner = self._texts(other), self._cleaners[other].clean
            blocks: Iterator[Block] = text.blocks()
            if other == place:
                blocks = takewhile(lambda block: block.first < number, blocks)
            work = Work(_finder, (cleaner, self._kinds(other).index(kind), key))
            for line in in_order(work, blocks, worthwhile(text.bytes(), processors())):
                if line and (other != place or line < number):
                    return f"{self._names[other]}:{line}"
        return ""


def _of_lengths(sides: Sequence[tuple[Sentences, Sequence[int]]], begin: int, end: int) -> list[int]:
    """Return the pairs from `begin` to before `end` that have as many ids on these sides."""
    alike = np.ones(end - begin, np.bool_)
    for sentences, ids in sides:
        alike &= sentences.lengths[begin:end] == len(ids)
    return [begin + int(place) for place in np.flatnonzero(alike)]


def _finder(cleaner: ChunkCleaner, column: int, key: int) -> Callable[[Block], int]:
    """Return what finds the first line of a block with a key; 0 where there is none."""

    def find(block: Block) -> int:
        chunk = cleaner(block)
        places = np.flatnonzero(chunk.keys[:, column] == np.uint64(key))
        return int(chunk.lines[places[0]]) if len(places) else 0

    return find

"""Cleaning: raw parallel texts to the spool of clean pairs, on all cores, with a count of all that is not there."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtkit.appending import Appender
from nmtkit.corpus.blocks import Block
from nmtkit.corpus.chunk_cleaning import ChunkCleaner, CleanChunk
from nmtkit.corpus.counts import CleanCounts, Drops
from nmtkit.corpus.duplicates import STEP, first_only
from nmtkit.corpus.examples import DROPPED, DroppedExample, Examples, examples_of, shortened
from nmtkit.corpus.filters import BlankConfig, DuplicateConfig
from nmtkit.corpus.lines import LineCounts, Place, raw_lines
from nmtkit.corpus.pair import SentencePair
from nmtkit.corpus.reader import ParallelText
from nmtkit.corpus.settings import LanguagesConfig, PrepareConfig, TrainFiles
from nmtkit.corpus.spool import Spool, TextBytes, append_block, to_bytes
from nmtkit.errors import DataError
from nmtkit.workers import Work, in_order

BLOCKS_PER_STEP = 64
"""Blocks, of a megabyte each, between two commits: an interruption costs some seconds of work."""


class Task(NamedTuple):
    """A block of the corpus at this place in the configuration."""

    corpus: int
    block: Block


class Cleaned(NamedTuple):
    """What a worker made of a block: clean pairs as the spool holds them, and the number of the last it looked at."""

    corpus: int
    last: int
    read: int
    lines: NDArray[np.int64]
    text: TextBytes
    keys: NDArray[np.uint64]
    counts: CleanCounts


class CorpusCleaner(NamedTuple):
    """What cleans a corpus. `columns`: those of the keys in the spool that its filters of duplicates fill."""

    clean: ChunkCleaner
    columns: list[int]
    name: str


def corpus_cleaners(
    config: PrepareConfig, languages: LanguagesConfig, corpora: Sequence[TrainFiles], held_out: Sequence[SentencePair]
) -> list[CorpusCleaner]:
    """Return what cleans each corpus. `held_out` are the pairs of development and test sets, normalised.

    Filters of duplicates with the same settings share a column, so that corpora are compared with each other.
    """
    kinds: list[DuplicateConfig] = []
    cleaners = []
    for corpus in corpora:
        filters = config.filters_of(corpus)
        duplicates = [filter_ for filter_ in filters if isinstance(filter_, DuplicateConfig)]
        kinds += [filter_ for filter_ in duplicates if filter_ not in kinds]
        columns = [kinds.index(filter_) for filter_ in duplicates]
        cleaners.append(CorpusCleaner(ChunkCleaner(config, languages, held_out, filters), columns, corpus.name))
    return cleaners


def clean_into(
    spool: Appender,
    texts: Sequence[ParallelText],
    cleaners: Sequence[CorpusCleaner],
    *,
    processes: int,
    advance: Callable[[int], None],
) -> list[CleanCounts]:
    """Bring the spool to its end, from where its last commit stands, and return what became of each text.

    `cleaners` has one for each text; `advance` hears of the bytes read. Raises DataError as the reader of a text does.
    """
    corpus, last, counts = _state(spool, cleaners)
    work = Work(_worker, (tuple(cleaners),))
    with closing(in_order(work, _tasks(texts, corpus, last), processes)) as blocks:
        for number, done in enumerate(blocks, start=1):
            append_block(spool, done.corpus, done.lines, done.text, done.keys)
            counts[done.corpus].merge(done.counts)
            advance(done.read)
            if number % BLOCKS_PER_STEP == 0:
                _commit(spool, done.corpus, done.last, counts)
    _commit(spool, len(texts), 0, counts)
    return counts


def _tasks(texts: Sequence[ParallelText], corpus: int, last: int) -> Iterator[Task]:
    """Yield the blocks that come after number `last` of a corpus."""
    for place in range(corpus, len(texts)):
        for block in texts[place].blocks():
            if place > corpus or block.last > last:
                yield Task(place, block)


def _worker(cleaners: tuple[CorpusCleaner, ...]) -> Callable[[Task], Cleaned]:
    width = _width(cleaners)

    def clean(task: Task) -> Cleaned:
        cleaner, block = cleaners[task.corpus], task.block
        chunk = cleaner.clean(block)
        keys = np.zeros((len(chunk.lines), width), np.uint64)
        keys[:, cleaner.columns] = chunk.keys
        chunk.counts.examples = examples_of(block, chunk, cleaner.clean)
        text = to_bytes(chunk.sources, chunk.targets)
        return Cleaned(task.corpus, block.last, block.read, chunk.lines, text, keys, chunk.counts)

    return clean


def _width(cleaners: Sequence[CorpusCleaner]) -> int:
    return max((column + 1 for cleaner in cleaners for column in cleaner.columns), default=0)


def _state(spool: Appender, cleaners: Sequence[CorpusCleaner]) -> tuple[int, int, list[CleanCounts]]:
    """Return where cleaning goes on: the corpus, the number of the last pair looked at, and the counts up to there."""
    if spool.state is None:
        nothing = [{reason: Drops() for reason in cleaner.clean.reasons} for cleaner in cleaners]
        return 0, 0, [CleanCounts(drops=drops) for drops in nothing]
    return spool.state["corpus"], spool.state["last"], [_counts(counts) for counts in spool.state["counts"]]


def _commit(spool: Appender, corpus: int, last: int, counts: Sequence[CleanCounts]) -> None:
    spool.commit({"corpus": corpus, "last": last, "counts": [asdict(each) for each in counts]})


def _counts(content: dict[str, Any]) -> CleanCounts:
    return CleanCounts(
        content["read"],
        content["kept"],
        {reason: Drops(**drops) for reason, drops in content["drops"].items()},
        LineCounts(**content["source"]),
        LineCounts(**content["target"]),
        [Drops(**drops) for drops in content["source_changed"]],
        [Drops(**drops) for drops in content["target_changed"]],
        Examples.from_json(content["examples"]),
    )


def drop_duplicates(spool: Spool, cleaners: Sequence[CorpusCleaner], counts: Sequence[CleanCounts]) -> None:
    """Mark what the filters of duplicates drop, one kind after the other, and count it."""
    keys = spool.keys(_width(cleaners))
    for column in range(keys.shape[1]):
        reasons = {
            corpus: cleaner.clean.duplicates[cleaner.columns.index(column)]
            for corpus, cleaner in enumerate(cleaners)
            if column in cleaner.columns
        }
        dropped = first_only(keys[:, column], spool.kept & spool.stands_in(reasons))
        spool.kept[dropped] = False
        for corpus, lines in spool.lines_of(dropped):
            counts[corpus].drops[reasons[corpus]].extend(lines)
            counts[corpus].kept -= len(lines)
            counts[corpus].examples.forget(frozenset(lines))
        owners = spool.corpora_of(dropped)
        for corpus, reason in reasons.items():
            first = dropped[owners == corpus][:DROPPED].tolist()
            if first:
                repeated = [_repetition(spool, cleaners, column, number) for number in first]
                counts[corpus].examples.dropped[reason] = repeated


def _repetition(spool: Spool, cleaners: Sequence[CorpusCleaner], column: int, number: int) -> DroppedExample:
    """Return a dropped pair, and which pair it repeats: of those with its key the one that is kept."""
    keys = spool.keys(_width(cleaners))[:, column]
    corpus, pair, line = spool.pair(number)
    shown = line, shortened(pair.source), shortened(pair.target)
    for begin in range(0, number, STEP):
        same = np.flatnonzero(keys[begin : min(begin + STEP, number)] == keys[number]) + begin
        for first in same[spool.kept[same]].tolist():
            earlier, _, its_line = spool.pair(first)
            where = "" if earlier == corpus else f" of {cleaners[earlier].name}"
            return DroppedExample(*shown, f"repeats line {its_line}{where}")
    return DroppedExample(*shown, "")


def clean_held_out(text: ParallelText, config: PrepareConfig, languages: LanguagesConfig) -> CleanChunk:
    """Return the normalised pairs of a development or test set that have text on both sides; blank ones are counted.

    Raises DataError where the text cannot be read or a line is not UTF-8.
    """
    clean = _held_out_cleaner(config, languages)
    sources: list[str] = []
    targets: list[str] = []
    lines: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    counts = CleanCounts()
    for block in text.blocks():
        chunk = clean(block)
        sources += chunk.sources
        targets += chunk.targets
        lines.append(chunk.lines)
        counts.merge(chunk.counts)
    return CleanChunk(sources, targets, np.concatenate(lines), np.empty((len(sources), 0), np.uint64), counts)


def clean_more_references(text: ParallelText, config: PrepareConfig, languages: LanguagesConfig) -> list[CleanChunk]:
    """Return the normalised pairs that the sources of a test set make with each further file of references.

    Raises DataError as `clean_held_out` does, and where such a file has not as many lines as the set has pairs.
    """
    if not text.more_references:
        return []
    clean = _held_out_cleaner(config, languages)
    sources = [source for block in text.blocks() for source in block.sources]
    chunks = []
    for file in text.more_references:
        targets = list(raw_lines(file.path))
        if len(targets) != len(sources):
            raise DataError(
                f"{file.name} has {len(targets):,} lines but {text.name} has {len(sources):,} pairs; line n of "
                "more_references must translate the source of pair n, so find where they part"
            )
        chunks.append(clean(Block(1, sources, targets, Place(text.source_name), Place(file.name))))
    return chunks


def _held_out_cleaner(config: PrepareConfig, languages: LanguagesConfig) -> ChunkCleaner:
    return ChunkCleaner(config.model_copy(update={"invalid_utf8": "error"}), languages, (), (BlankConfig(),))

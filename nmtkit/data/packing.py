"""Packing: clean pairs to ids on disk."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from nmtkit.corpus.cleaning import Drops, KeptPair
from nmtkit.corpus.segmenters import LONGEST_PIECE, Segmenter
from nmtkit.corpus.vocabulary import UNK
from nmtkit.data.store import PairWriter

PAIRS_AT_ONCE = 4_096
"""Enough to keep all cores busy; few enough not to be noticed in memory."""


@dataclass
class SideCounts:
    """Pieces packed on one side, and how many of them are unknown characters."""

    pieces: int = 0
    unknown: int = 0

    def add(self, sentences: Sequence[Sequence[int]]) -> None:
        """Count sentences of ids."""
        self.pieces += sum(map(len, sentences))
        self.unknown += sum(ids.count(UNK) for ids in sentences)


@dataclass
class PackCounts:
    """What was packed, and by corpus (its place in the configuration) which pairs were too long."""

    pairs: int = 0
    source: SideCounts = field(default_factory=SideCounts)
    target: SideCounts = field(default_factory=SideCounts)
    too_long: dict[int, Drops] = field(default_factory=dict)


def pack(
    pairs: Iterable[KeptPair],
    source: Segmenter,
    target: Segmenter,
    writer: PairWriter,
    *,
    max_pieces: int,
    advance: Callable[[int], None] = lambda _: None,
) -> PackCounts:
    """Write the ids of pairs of at most `max_pieces` pieces a side; `advance` hears of every so many pairs."""
    counts = PackCounts()
    for chunk in _chunks(pairs):
        sources = _encode(source, [kept.pair.source for kept in chunk], max_pieces)
        targets = _encode(target, [kept.pair.target for kept in chunk], max_pieces)
        fitting_sources, fitting_targets = [], []
        for kept, source_ids, target_ids in zip(chunk, sources, targets, strict=True):
            if source_ids is None or target_ids is None:
                counts.too_long.setdefault(kept.corpus, Drops()).add(kept.line)
            else:
                fitting_sources.append(source_ids)
                fitting_targets.append(target_ids)
        writer.write(fitting_sources, fitting_targets)
        counts.pairs += len(fitting_sources)
        counts.source.add(fitting_sources)
        counts.target.add(fitting_targets)
        advance(len(chunk))
    return counts


def lost_in_segmenting(segmenter: Segmenter, lines: Sequence[str]) -> list[int]:
    """Return the places of the lines that do not come back whole from the way to ids and back."""
    returned = segmenter.decode(segmenter.encode(lines))
    return [place for place, (line, back) in enumerate(zip(lines, returned, strict=True)) if line != back]


def _encode(segmenter: Segmenter, lines: Sequence[str], max_pieces: int) -> list[list[int] | None]:
    """Return the ids of each line, or None where there are more than `max_pieces`."""
    # A line this long has too many pieces in any vocabulary: a line of a hundred megabytes is not even segmented.
    limit = max_pieces * LONGEST_PIECE
    sentences = segmenter.encode([line if len(line) <= limit else "" for line in lines])
    return [
        ids if len(ids) <= max_pieces and len(line) <= limit else None
        for line, ids in zip(lines, sentences, strict=True)
    ]


def _chunks(pairs: Iterable[KeptPair]) -> Iterator[list[KeptPair]]:
    remaining = iter(pairs)
    while chunk := list(islice(remaining, PAIRS_AT_ONCE)):
        yield chunk

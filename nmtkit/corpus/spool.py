"""The spool: clean training pairs on disk between their one reading and their two uses, learning and packing.

Three files that grow together. `text` holds blocks of pairs, each the numbers of their lines, then the source
sentences, then the target sentences; `blocks` where each block lies; `keys` one number a pair for each filter of
duplicates.
"""

import hashlib
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmtkit.appending import Appender
from nmtkit.corpus.pair import SentencePair

FILES = ("text", "blocks", "keys")
SAMPLE_SEED = 1
"""Which lines a vocabulary is learned from is part of the method, not of an experiment."""

MOST_HYPERGEOMETRIC = 10**9
"""The number from which on numpy draws no hypergeometric numbers."""


class SpoolBlock(NamedTuple):
    """Clean pairs of one corpus (its place in the configuration), with the numbers of their lines in it, from 1."""

    corpus: int
    lines: NDArray[np.int64]
    sources: list[str]
    targets: list[str]


class Place(NamedTuple):
    """Where a block lies in the file of texts, and what it holds."""

    offset: int
    corpus: int
    pairs: int
    source_bytes: int
    target_bytes: int


class TextBytes(NamedTuple):
    """The sentences of a block as they are written: each ends in a line feed, which no clean sentence holds."""

    source: bytes
    target: bytes


def to_bytes(sources: Sequence[str], targets: Sequence[str]) -> TextBytes:
    """Return the sentences of both sides as the spool holds them."""
    return TextBytes(*("".join(f"{line}\n" for line in side).encode() for side in (sources, targets)))


def append_block(
    spool: Appender, corpus: int, lines: NDArray[np.int64], text: TextBytes, keys: NDArray[np.uint64]
) -> None:
    """Append pairs; `keys` has a row for each."""
    if not len(lines):
        return
    place = Place(spool.size("text"), corpus, len(lines), len(text.source), len(text.target))
    spool.write("text", lines.astype("<i8").tobytes())
    spool.write("text", text.source)
    spool.write("text", text.target)
    spool.write("blocks", np.array(place, "<i8").tobytes())
    spool.write("keys", keys.astype("<u8").tobytes())


class Spool:
    """A spool read again. `kept` tells of each pair whether it is no duplicate."""

    def __init__(self, folder: Path, kept: NDArray[np.bool_] | None = None) -> None:
        rows = np.fromfile(folder / "blocks", "<i8").reshape(-1, len(Place._fields))
        self.places = [Place(*row) for row in rows.tolist()]
        self.starts = np.concatenate([[0], np.cumsum(rows[:, 2])])
        """The number of the first pair of each block, and that of all pairs."""
        self.folder = folder
        self.kept = np.ones(int(self.starts[-1]), np.bool_) if kept is None else kept

    def kept_of(self, block: int) -> NDArray[np.bool_]:
        """Return which pairs of a block are kept."""
        return self.kept[self.starts[block] : self.starts[block + 1]]

    def keys(self, width: int) -> NDArray[np.uint64]:
        """Return the keys, pairs × width, from the disk."""
        shape = (len(self.kept), width)
        return np.memmap(self.folder / "keys", "<u8", "r", shape=shape) if all(shape) else np.empty(shape, np.uint64)

    def stands_in(self, corpora: Container[int]) -> NDArray[np.bool_]:
        """Return of each pair whether it stands in one of these corpora."""
        return np.repeat([place.corpus in corpora for place in self.places], np.diff(self.starts)).astype(np.bool_)

    def corpora_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the corpus of each pair, given by its number."""
        corpora = np.array([place.corpus for place in self.places], np.int64)
        return corpora[np.searchsorted(self.starts, numbers, side="right") - 1]

    def pair(self, number: int) -> tuple[int, SentencePair, int]:
        """Return a pair, kept or not, by its number: its corpus, texts and line."""
        block = int(np.searchsorted(self.starts, number, side="right")) - 1
        place = number - int(self.starts[block])
        chosen = np.zeros(self.places[block].pairs, np.bool_)
        chosen[place] = True
        corpus, lines, (source,), (target,) = read_block(self.folder, self.places[block], chosen)
        return corpus, SentencePair(source, target), int(lines[0])

    def lines_of(self, numbers: NDArray[np.int64]) -> Iterator[tuple[int, list[int]]]:
        """Yield the lines of pairs, given by their numbers in order, as the lines of a corpus at a time."""
        blocks, begins = np.unique(np.searchsorted(self.starts, numbers, side="right") - 1, return_index=True)
        for block, some in zip(blocks.tolist(), np.split(numbers, begins[1:]), strict=False):
            place = self.places[block]
            lines = np.fromfile(self.folder / "text", "<i8", place.pairs, offset=place.offset)
            yield place.corpus, lines[some - self.starts[block]].tolist()

    def digest(self) -> str:
        """Return the SHA-256 of the sentences, hexadecimal; where they stood before cleaning does not count."""
        sides = [hashlib.sha256(), hashlib.sha256()]
        with (self.folder / "text").open("rb") as stream:
            for place in self.places:
                stream.seek(place.offset + 8 * place.pairs)
                for side, size in zip(sides, (place.source_bytes, place.target_bytes), strict=True):
                    side.update(stream.read(size))
        kept = hashlib.sha256(np.packbits(self.kept).tobytes())
        return hashlib.sha256(b"".join(each.digest() for each in (*sides, kept))).hexdigest()

    def __iter__(self) -> Iterator[SpoolBlock]:
        """Yield the blocks with the pairs that are kept."""
        for number, place in enumerate(self.places):
            yield read_block(self.folder, place, self.kept_of(number))


def read_block(folder: Path, place: Place, kept: NDArray[np.bool_]) -> SpoolBlock:
    """Return the pairs of a block that are kept."""
    with (folder / "text").open("rb") as stream:
        stream.seek(place.offset)
        lines = np.frombuffer(stream.read(8 * place.pairs), "<i8")
        sides = [stream.read(size).decode().split("\n")[:-1] for size in (place.source_bytes, place.target_bytes)]
    if not kept.all():
        lines = lines[kept]
        sides = [[line for line, keep in zip(side, kept.tolist(), strict=True) if keep] for side in sides]
    return SpoolBlock(place.corpus, lines, *sides)


def sample(spool: Spool, size: int) -> Iterator[SentencePair]:
    """Yield `size` pairs of a spool drawn at random, in their order, or all of them where there are no more.

    Any set of that size is as likely as any other: each block gives as many as fall to it (a hypergeometric draw; of
    more pairs than that is computed for, a binomial one, which is near it). The same spool gives the same sample.
    """
    generator = np.random.default_rng(SAMPLE_SEED)
    left, wanted = int(spool.kept.sum()), size
    for block in spool:
        pairs = len(block.lines)
        share = pairs if wanted >= left else _share(generator, pairs, left, wanted) if pairs else 0
        chosen: Any = range(pairs) if share == pairs else sorted(generator.choice(pairs, share, replace=False).tolist())
        left, wanted = left - pairs, wanted - share
        for place in chosen:
            yield SentencePair(block.sources[place], block.targets[place])


def _share(generator: np.random.Generator, pairs: int, left: int, wanted: int) -> int:
    """Return how many of the wanted pairs, out of so many left, fall to a block that has some of these."""
    if left < MOST_HYPERGEOMETRIC:
        return int(generator.hypergeometric(pairs, left - pairs, wanted))
    return min(pairs, int(generator.binomial(wanted, pairs / left)))

"""Packing: clean pairs to ids, and what was met on the way."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from nmtkit.appending import Appender
from nmtkit.corpus.counts import Drops
from nmtkit.corpus.profile import Profile
from nmtkit.corpus.segmenters import Segmenter, load_segmenter
from nmtkit.corpus.spool import Place, Spool, SpoolBlock, read_block
from nmtkit.corpus.vocabulary import UNK
from nmtkit.data.store import LINES, Packed, PairWriter, id_type, lines_header, pack_ids, split_files
from nmtkit.workers import Work, in_order

BLOCKS_PER_STEP = 64
"""Blocks between two commits: an interruption costs some seconds of work."""


@dataclass
class SideCounts:
    """Pieces packed on one side, and how many of them are unknown characters."""

    pieces: int = 0
    unknown: int = 0

    def add(self, packed: Packed) -> None:
        """Count sentences."""
        self.pieces += len(packed.ids)
        self.unknown += int((packed.ids == UNK).sum())


@dataclass
class PackCounts:
    """What was packed, and by corpus (its place in the configuration) which pairs were too long."""

    pairs: int = 0
    source: SideCounts = field(default_factory=SideCounts)
    target: SideCounts = field(default_factory=SideCounts)
    too_long: dict[int, Drops] = field(default_factory=dict)
    profiles: dict[int, Profile] = field(default_factory=dict)
    frequencies: list[NDArray[np.int64]] = field(default_factory=lambda: [np.zeros(0, np.int64)] * 2, compare=False)
    """How often each id was packed, on each side."""

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """Return what `to_json` made and a file of JSON held."""
        too_long = {int(corpus): Drops(**drops) for corpus, drops in content["too_long"].items()}
        profiles = {int(corpus): Profile.from_json(profile) for corpus, profile in content["profiles"].items()}
        frequencies = [np.array(side, np.int64) for side in content["frequencies"]]
        sides = SideCounts(**content["source"]), SideCounts(**content["target"])
        return cls(content["pairs"], *sides, too_long, profiles, frequencies)

    def to_json(self) -> dict[str, Any]:
        """Return everything in types of JSON."""
        return {**asdict(self), "frequencies": [side.tolist() for side in self.frequencies]}

    def add(self, block: "PackedBlock") -> None:
        """Count the pairs of a block."""
        self.pairs += len(block.source.lengths)
        self.source.add(block.source)
        self.target.add(block.target)
        self.profiles.setdefault(block.corpus, Profile()).merge(block.profile)
        both = zip(self.frequencies, block.frequencies, strict=True)
        self.frequencies = [mine + more if len(mine) else more.astype(np.int64) for mine, more in both]
        for line in block.too_long:
            self.too_long.setdefault(block.corpus, Drops()).add(line)


class PackedBlock(NamedTuple):
    """The ids of the pairs of a block that fit, their lines, and the lines of those that were too long.

    `profile` says what the text is like, `frequencies` how often each id occurs on each side.
    """

    corpus: int
    source: Packed
    target: Packed
    too_long: list[int]
    lines: NDArray[np.int64]
    profile: Profile
    frequencies: tuple[NDArray[np.uint32], NDArray[np.uint32]]


class Packer:
    """Turns blocks of clean pairs into ids; pairs of more than `max_pieces` pieces on a side are left out.

    `tags` has, for each corpus, the id that is put before its sources, or None; `strides` a number for each: of the
    lines that it divides the profile is made.
    """

    def __init__(
        self,
        source: Segmenter,
        target: Segmenter,
        max_pieces: int,
        tags: Sequence[int | None] = (),
        strides: Sequence[int] = (),
    ) -> None:
        self._segmenters, self._max_pieces, self._tags, self._strides = (source, target), max_pieces, tags, strides
        self._types = id_type(source.size), id_type(target.size)

    def __call__(self, block: SpoolBlock) -> PackedBlock:
        """Return the ids of a block."""
        sides = (block.sources, block.targets)
        # A line this long has too many pieces in any case: one of a hundred megabytes is not even segmented.
        fitting = np.ones(len(block.lines), np.bool_)
        for segmenter, side in zip(self._segmenters, sides, strict=True):
            longest = self._max_pieces * segmenter.longest_piece
            fitting &= np.fromiter((len(line) <= longest for line in side), np.bool_, len(side))
        source, target = (
            pack_ids(segmenter.encode([line if fits else "" for line, fits in zip(side, fitting, strict=True)]), type_)
            for segmenter, side, type_ in zip(self._segmenters, sides, self._types, strict=True)
        )
        fitting &= (source.lengths <= self._max_pieces) & (target.lengths <= self._max_pieces)
        source, target = select(source, fitting), select(target, fitting)
        lines, texts = block.lines[fitting], [list(compress(side, fitting.tolist())) for side in sides]
        profile = self._profile(block.corpus, lines, texts, (source, target))
        tag = self._tags[block.corpus] if self._tags else None
        if tag is not None:
            source = put_before(source, tag)
        frequencies = (_frequencies(source, self._segmenters[0].size), _frequencies(target, self._segmenters[1].size))
        too_long = block.lines[~fitting].tolist()
        return PackedBlock(block.corpus, source, target, too_long, lines, profile, frequencies)

    def _profile(
        self, corpus: int, lines: NDArray[np.int64], texts: Sequence[Sequence[str]], packed: Sequence[Packed]
    ) -> Profile:
        profile = Profile()
        profile.count_words(*texts)
        stride = self._strides[corpus] if self._strides else 1
        places = np.flatnonzero(lines % stride == 0).tolist()
        chosen = [[side[place] for place in places] for side in texts]
        back = [
            segmenter.decode(_sentences(side, places)) for segmenter, side in zip(self._segmenters, packed, strict=True)
        ]
        profile.look(chosen[0], chosen[1], (back[0], back[1]))
        return profile


def _sentences(packed: Packed, places: Sequence[int]) -> list[list[int]]:
    """Return the ids of the sentences at some places."""
    ends = np.cumsum(packed.lengths)
    return [packed.ids[ends[place] - packed.lengths[place] : ends[place]].tolist() for place in places]


def _frequencies(packed: Packed, size: int) -> NDArray[np.uint32]:
    return np.bincount(packed.ids, minlength=size).astype(np.uint32)


def select(packed: Packed, chosen: NDArray[np.bool_]) -> Packed:
    """Return the chosen sentences."""
    if chosen.all():
        return packed
    return Packed(packed.ids[np.repeat(chosen, packed.lengths)], packed.lengths[chosen])


def put_before(packed: Packed, id_: int) -> Packed:
    """Return the sentences with an id put before each."""
    begins = np.cumsum(packed.lengths) - packed.lengths
    return Packed(np.insert(packed.ids, begins, id_), packed.lengths + 1)


class Packing(NamedTuple):
    """What a worker needs to pack the blocks of a spool in this folder; `tags` are names, empty where there is none."""

    spool: Path
    source_model: Path
    target_model: Path
    max_pieces: int
    tags: tuple[str, ...]
    strides: tuple[int, ...] = ()


class Task(NamedTuple):
    """A block of a spool to be packed: where it lies, and which of its pairs are kept."""

    place: Place
    kept: NDArray[np.bool_]


PACK_FILES = (*split_files("train"), LINES)
"""The files that training pairs are packed into."""


def pack_into(
    files: Appender,
    writer: PairWriter,
    spool: Spool,
    packing: Packing,
    *,
    processes: int,
    advance: Callable[[int], None],
) -> PackCounts:
    """Bring the files of a split to their end, from where their last commit stands; `advance` hears of pairs."""
    begin, counts = 0, PackCounts()
    if files.state is None:
        writer.begin()
        files.write(LINES, lines_header())
    else:
        begin, counts = files.state["blocks"], PackCounts.from_json(files.state["counts"])
        writer.ends = files.state["ends"]
        advance(int(spool.kept[: spool.starts[begin]].sum()))
    tasks = (Task(spool.places[block], spool.kept_of(block)) for block in range(begin, len(spool.places)))
    with closing(in_order(Work(_worker, (packing,)), tasks, processes)) as blocks:
        for done, block in enumerate(blocks, start=begin + 1):
            writer.write(block.source, block.target)
            files.write(LINES, block.lines.astype("<u4").tobytes())
            counts.add(block)
            advance(len(block.source.lengths) + len(block.too_long))
            if done % BLOCKS_PER_STEP == 0 or done == len(spool.places):
                files.commit({"blocks": done, "ends": writer.ends, "counts": counts.to_json()})
    return counts


def _worker(packing: Packing) -> Callable[[Task], PackedBlock]:
    source, target = (load_segmenter(model) for model in (packing.source_model, packing.target_model))
    tags = [source.tag(tag) if tag else None for tag in packing.tags]
    pack = Packer(source, target, packing.max_pieces, tags, packing.strides)
    return lambda task: pack(read_block(packing.spool, task.place, task.kept))


def lost_in_segmenting(segmenter: Segmenter, lines: Sequence[str]) -> list[int]:
    """Return the places of the lines that do not come back whole from the way to ids and back."""
    returned = segmenter.decode(segmenter.encode(lines))
    return [place for place, (line, back) in enumerate(zip(lines, returned, strict=True)) if line != back]

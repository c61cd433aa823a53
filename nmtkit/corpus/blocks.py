"""Blocks: raw pairs by the thousand out of the files of a parallel text, as fast as lines can be read.

Each class reads one form: two files in step, a file of tab-separated columns, a translation memory. They are plain
values, so that another process can read with them.

Measured by tests/benchmarks/reading.py on a core of an AMD EPYC, in microseconds a pair of Multi30k: two plain files
0.2 (as `readlines` alone), zst 0.4, gz and TSV 0.6, xz 1.4, bzip2 4 to 5, TMX 7. As cleaning and encoding a pair cost
some 20, which other processes do meanwhile, files are not unpacked in a thread of their own.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from nmtkit.corpus.archives import packing_of
from nmtkit.corpus.lines import Place, count_lines, line_chunks
from nmtkit.corpus.sgm import check_same, is_sgm, read_segments
from nmtkit.corpus.tmx import read_units
from nmtkit.errors import DataError

BLOCK = 1 << 20
"""Bytes of a side that a block has, about."""

MISSING_LANGUAGE = "missing_language"
"""The reason of units of a translation memory that lack one of the languages."""

_ONE_A_LINE = "give a file with one sentence a line"


class TextFile(NamedTuple):
    """A file, and what reports and messages call it."""

    path: Path
    name: str


class Block(NamedTuple):
    """Raw pairs that follow one another.

    `first` is the number of the first in its corpus, from 1. Texts are bytes, mostly UTF-8, without line feed and byte
    order mark; as many on both sides. Where `given_numbers` is empty, the numbers of the others go on from `first`.
    `left_out` has, each with its reason, the numbers of what stood among them and is no pair; `read` is how many bytes
    of the files were read to get the block.
    """

    first: int
    sources: list[bytes]
    targets: list[bytes]
    source_place: Place = Place("source text")
    target_place: Place = Place("target text")
    given_numbers: Sequence[int] = ()
    left_out: Sequence[tuple[str, int]] = ()
    read: int = 0

    @property
    def numbers(self) -> Sequence[int]:
        """The number of each pair in its corpus."""
        return self.given_numbers or range(self.first, self.first + len(self.sources))

    @property
    def last(self) -> int:
        """The number of the last pair, or of what stands after it and is none."""
        return max([*self.numbers[-1:], *(number for _, number in self.left_out[-1:])])


class TwoFiles(NamedTuple):
    """Two files; line (or segment, of SGM) n of the one translates line n of the other."""

    source: TextFile
    target: TextFile

    @property
    def files(self) -> tuple[TextFile, ...]:
        """Its files."""
        return (self.source, self.target)

    @property
    def manner(self) -> list[str]:
        """How they are read, for the fingerprint of what is made of them."""
        return ["two files", *("sgm" if is_sgm(file.path) else "lines" for file in self.files)]

    def count_pairs(self) -> int:
        """Return the number of pairs. Raises DataError where a file is empty or the files differ in lines."""
        counts = [count_lines(file.path, file.name) for file in self.files]
        if counts[0] != counts[1]:
            raise self._unequal(*counts)
        return counts[0]

    def blocks(self, size: int, before: int = 0) -> Iterator[Block]:
        """Yield the pairs; `before` are those of the corpus that stand in other files.

        Raises DataError, with both counts, where one file ends before the other.
        """
        self._check_segments()
        source_place, target_place = (
            Place(file.name, before, "segment" if is_sgm(file.path) else "line") for file in self.files
        )
        source_chunks, target_chunks = (line_chunks(file.path, size, file.name) for file in self.files)
        targets: list[bytes] = []
        number = before + 1
        for sources, read_of_source in source_chunks:
            read = read_of_source
            while len(targets) < len(sources) and (more := next(target_chunks, None)) is not None:
                targets += more.lines
                read += more.read
            count = min(len(sources), len(targets))
            if count:
                yield Block(number, sources[:count], targets[:count], source_place, target_place, read=read)
            number += count
            if count < len(sources):
                rest = len(sources) - count + sum(len(chunk.lines) for chunk in source_chunks)
                raise self._unequal(number - before - 1 + rest, number - before - 1)
            del targets[:count]
        rest = len(targets) + sum(len(chunk.lines) for chunk in target_chunks)
        if rest:
            raise self._unequal(number - before - 1, number - before - 1 + rest)

    def _check_segments(self) -> None:
        if all(is_sgm(file.path) for file in self.files):
            source, target = (read_segments(file.path, file.name) for file in self.files)
            check_same(source, target, self.source.name, self.target.name)

    def _unequal(self, sources: int, targets: int) -> DataError:
        for file, count in ((self.source, sources), (self.target, targets)):
            if not count:
                return DataError(f"{file.name} is empty; {_ONE_A_LINE}")
        return DataError(
            f"{self.source.name} has {sources} lines but {self.target.name} has {targets}; line n of the one must "
            "translate line n of the other, so find where they part and repair the files"
        )


class TsvFile(NamedTuple):
    """A file of tab-separated columns, two of which are pairs, as they stand: quotes mean nothing.

    `columns` are numbers from 1, or names out of the first line, which then is no pair; empty: there are two, source
    and target. Every line has as many columns as the first.
    """

    file: TextFile
    columns: tuple[int, int] | tuple[str, str] | tuple[()] = ()

    @property
    def files(self) -> tuple[TextFile, ...]:
        """Its file."""
        return (self.file,)

    @property
    def manner(self) -> list[str]:
        """How it is read, for the fingerprint of what is made of it."""
        return ["tsv", *map(repr, self.columns)]

    @property
    def header(self) -> int:
        """How many lines come before the pairs."""
        return int(any(isinstance(column, str) for column in self.columns))

    def count_pairs(self) -> int:
        """Return the number of pairs. Raises DataError where it has none."""
        count = count_lines(self.file.path, self.file.name) - self.header
        if not count:
            raise DataError(f"{self.file.name} holds nothing but the names of its columns; give a file with pairs")
        return count

    def blocks(self, size: int, before: int = 0) -> Iterator[Block]:
        """Yield the pairs; `before` are those of the corpus that stand in other files.

        Raises DataError where a column is missing, and where a line has more or fewer columns than the first.
        """
        # A pair takes one line, not two.
        chunks = line_chunks(self.file.path, 2 * size, self.file.name)
        begun = next(chunks, None)
        if begun is None:
            return
        source, target, width = self._find(begun.lines[0].removesuffix(b"\r").split(b"\t"))
        lines, read = begun.lines[self.header :], begun.read
        source_place, target_place = (
            Place(self.file.name, before - self.header, column=f", column {column + 1}") for column in (source, target)
        )
        number = before + 1
        while True:
            good = lines[: _first_of_other_width(lines, width)]
            if good:
                cells = b"\t".join(good).split(b"\t")
                yield Block(number, cells[source::width], cells[target::width], source_place, target_place, read=read)
            number += len(good)
            if len(good) < len(lines):
                found = lines[len(good)].count(b"\t") + 1
                raise self._wrong_width(number - before + self.header, found, width)
            if (more := next(chunks, None)) is None:
                return
            lines, read = more

    def _find(self, first: list[bytes]) -> tuple[int, int, int]:
        """Return the places of the columns, from 0, and how many there must be, by the cells of the first line."""
        if not self.columns:
            return 0, 1, 2
        names = [cell.decode("utf-8", "replace") for cell in first]
        places = []
        for column in self.columns:
            if isinstance(column, str) and column not in names:
                known = ", ".join(names)
                raise DataError(f"{self.file.name}, line 1: no column is named {column!r}; the names there are {known}")
            place = names.index(column) if isinstance(column, str) else column - 1
            if place >= len(names):
                raise DataError(f"{self.file.name}, line 1: {len(names)} columns, so there is no column {column}")
            places.append(place)
        return places[0], places[1], len(names)

    def _wrong_width(self, line: int, found: int, width: int) -> DataError:
        remedy = "remove tabs inside columns, and blank lines"
        if not self.columns:
            remedy = "source TAB target; remove further tabs and blank lines, or choose two columns with `columns`"
        return DataError(f"{self.file.name}, line {line}: {found} columns where {width} are needed, {remedy}")


def _first_of_other_width(lines: list[bytes], width: int) -> int:
    """Return the place of the first line that has not so many columns; the number of lines where all have."""
    if not lines:
        return 0
    # Line feeds between the lines stand in a column of their own, so one look at all lines is enough.
    cells = b"\t\n\t".join(lines).split(b"\t")
    if len(cells) == len(lines) * (width + 1) - 1 and cells[width :: width + 1].count(b"\n") == len(lines) - 1:
        return len(lines)
    return next(place for place, line in enumerate(lines) if line.count(b"\t") != width - 1)


class TmxFile(NamedTuple):
    """A translation memory, of which two languages are read."""

    file: TextFile
    codes: tuple[str, str]

    @property
    def files(self) -> tuple[TextFile, ...]:
        """Its file."""
        return (self.file,)

    @property
    def manner(self) -> list[str]:
        """How it is read, for the fingerprint of what is made of it."""
        return ["tmx", *self.codes]

    def count_pairs(self) -> int:
        """Return the number of units, with or without both languages. Raises DataError where none has both."""
        return sum(len(batch.units) for batch in read_units(self.file.path, self.file.name, self.codes))

    def blocks(self, size: int, before: int = 0) -> Iterator[Block]:
        """Yield the pairs; `before` are those of the corpus, and units that are none, that stand in other files.

        Raises DataError where the file is no well-formed TMX, uses entities, or has no unit in both languages.
        """
        place = Place(self.file.name, before, "unit")
        sources: list[bytes] = []
        targets: list[bytes] = []
        numbers: list[int] = []
        left_out: list[tuple[str, int]] = []
        length = read = 0
        for batch in read_units(self.file.path, self.file.name, self.codes):
            read += batch.read
            for unit in batch.units:
                if unit.source is None or unit.target is None:
                    left_out.append((MISSING_LANGUAGE, before + unit.number))
                    continue
                sources.append(unit.source)
                targets.append(unit.target)
                numbers.append(before + unit.number)
                length += len(unit.source)
            if length >= size or len(left_out) >= size:
                yield Block((numbers or [before + 1])[0], sources, targets, place, place, numbers, left_out, read)
                sources, targets, numbers, left_out, length, read = [], [], [], [], 0, 0
        if numbers or left_out:
            yield Block((numbers or [before + 1])[0], sources, targets, place, place, numbers, left_out, read)


Part = TwoFiles | TsvFile | TmxFile
"""What a parallel text consists of: files that are read by themselves."""


def is_cheap(part: Part) -> bool:
    """Tell whether counting the pairs of a part costs no more than reading its bytes."""
    return not isinstance(part, TmxFile) and not any(_is_packed(file.path) for file in part.files)


def _is_packed(path: Path) -> bool:
    with path.open("rb") as stream:
        return packing_of(stream.read(16)) is not None

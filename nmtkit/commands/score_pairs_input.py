"""Pairs to be scored, out of two files, a file of two columns or standard input; n-best lists beside their source."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from math import isnan
from pathlib import Path
from typing import NamedTuple

from nmtkit.commands.translate import STANDARD_INPUT, is_file, standard_input
from nmtkit.corpus.blocks import TextFile, TwoFiles
from nmtkit.corpus.lines import LineCounts, clean, clean_lines, decode, raw_lines, read_lines
from nmtkit.corpus.pair import SentencePair
from nmtkit.corpus.reader import PairCounts, ParallelText
from nmtkit.errors import DataError

STREAM = Path("-")
"""Stands for standard input."""


class PairInput(NamedTuple):
    """Pairs in order, None for what is none, and what is known of them before they are read."""

    pairs: Iterator[SentencePair | None]
    total: int | None
    """How many there are, where that is known."""
    at_rest: bool
    """Whether all are there already, so that waiting for more delays nobody."""


class Listed(NamedTuple):
    """A line of an n-best list: a translation and what ranked it."""

    score: float
    text: str


class Group(NamedTuple):
    """A source line, its number from 1, and the translations that a list has of it, best first."""

    number: int
    source: str
    listed: list[Listed]


def read_pairs(files: Sequence[Path]) -> PairInput:
    """Return the pairs in two files, in a file of SOURCE TAB TARGET, or (no file, or "-") on standard input.

    Raises DataError at once where a file cannot be read, two files differ in lines, or a line of columns is the first
    and has not two; later where a stream ends or breaks too early. A line that has not two columns, or is not UTF-8, is
    no pair.
    """
    if len(files) == 2:
        return _two_files(*files)
    path = files[0] if files and files[0] != STREAM else None
    if path is None:
        _check_standard_input()
        return PairInput(_columns(standard_input(), STANDARD_INPUT), None, is_file(None))
    flowing = _flows(path)
    if not flowing:
        next(_columns(raw_lines(path), str(path)), None)
    return PairInput(_columns(raw_lines(path), str(path)), None, at_rest=not flowing)


def read_groups(listed: Path, source: Path | None) -> Iterator[Group]:
    """Yield the source lines, each with its translations, as `nmtkit translate --n-best` wrote them into `listed`.

    `source` is the text that was translated; None or "-": standard input. Raises DataError where one of both cannot be
    read, a line of the list is not NUMBER TAB SCORE TAB TEXT, or the numbers are not those of the source lines.
    """
    source = None if source == STREAM else source
    if listed == STREAM and source is None:
        raise DataError("--n-best -: list and source text cannot both come from standard input; name a file for one")
    if listed == STREAM or source is None:
        _check_standard_input()
    list_name = STANDARD_INPUT if listed == STREAM else str(listed)
    source_name = STANDARD_INPUT if source is None else str(source)
    sources = (
        clean_lines(standard_input(), STANDARD_INPUT, invalid="replace")
        if source is None
        else read_lines(source, invalid="replace")
    )
    raws = standard_input() if listed == STREAM else raw_lines(listed)
    return _grouped(_entries(raws, list_name), list_name, sources, source_name)


def _two_files(source: Path, target: Path) -> PairInput:
    if STREAM in (source, target):
        raise DataError(
            "-: of two files neither can be standard input; send SOURCE TAB TARGET there, as `paste` makes it, and "
            "name no file"
        )
    flowing = [path for path in (source, target) if _flows(path)]
    if not flowing:
        text = ParallelText("pairs", (TwoFiles(TextFile(source, str(source)), TextFile(target, str(target))),))
        # Unpacking twice takes little beside what follows.
        count = text.count_pairs()
        return PairInput(text.pairs(PairCounts(), invalid="mark"), count, at_rest=True)
    for path in {source, target}.difference(flowing):
        next(raw_lines(path), None)
    return PairInput(_side_by_side(source, target), None, at_rest=False)


def _side_by_side(source: Path, target: Path) -> Iterator[SentencePair | None]:
    """Yield the pairs in two files one of which at least is a stream."""
    counts = LineCounts()
    for counts.lines, raws in enumerate(zip_longest(raw_lines(source), raw_lines(target)), start=1):
        if None in raws:
            ended, longer = (source, target) if raws[0] is None else (target, source)
            raise DataError(
                f"{longer} goes on behind line {counts.lines - 1:,}, where {ended} ends; line n of the one must "
                "translate line n of the other"
            )
        yield _pair(raws, (str(source), str(target)), counts)


def _columns(raws: Iterable[bytes], name: str) -> Iterator[SentencePair | None]:
    counts = LineCounts()
    for counts.lines, raw in enumerate(raws, start=1):
        cells = raw.removesuffix(b"\r").split(b"\t") if raw.strip() else [b"", b""]
        if len(cells) != 2:
            if counts.lines == 1:
                raise DataError(
                    f"{name}, line 1: {len(cells)} column{'s' if len(cells) > 1 else ''} where 2 are needed, SOURCE "
                    "TAB TARGET; choose them with `cut -f`, or give two files"
                )
            yield None
            continue
        yield _pair(cells, (name, name), counts)


def _pair(raws: Sequence[bytes], names: Sequence[str], counts: LineCounts) -> SentencePair | None:
    """Return two raw texts as a pair; None where one is not UTF-8."""
    source, target = (decode(raw, name, counts, "mark") for raw, name in zip(raws, names, strict=True))
    return None if source is None or target is None else SentencePair(clean(source), clean(target))


def _entries(raws: Iterable[bytes], name: str) -> Iterator[tuple[int, Listed]]:
    """Yield the lines of a list, each with its number."""
    counts = LineCounts()
    for counts.lines, raw in enumerate(raws, start=1):
        text = decode(raw, name, counts)
        assert text is not None
        cells = text.split("\t")
        try:
            number, score = int(cells[0]), float(cells[1])
        except (ValueError, IndexError):
            number, score = 0, 0.0
        if len(cells) != 3 or number < 1 or isnan(score):
            raise DataError(
                f"{name}, line {counts.lines}: not NUMBER TAB SCORE TAB TEXT; give a list as nmtkit translate --n-best "
                "writes it"
            )
        yield number, Listed(score, clean(cells[2]))


def _grouped(
    entries: Iterator[tuple[int, Listed]], name: str, sources: Iterator[str], source_name: str
) -> Iterator[Group]:
    remedy = "give the text that was translated, and the list as it was written"
    group: Group | None = None
    for line, (number, entry) in enumerate(entries, start=1):
        if group is not None and number == group.number:
            group.listed.append(entry)
            continue
        expected = 1 if group is None else group.number + 1
        if number != expected:
            raise DataError(f"{name}, line {line}: number {number:,}, where {expected:,} is next; {remedy}")
        source = next(sources, None)
        if source is None:
            raise DataError(f"{name}, line {line}: number {number:,}, but {source_name} ends before; {remedy}")
        if group is not None:
            yield group
        group = Group(number, source, [entry])
    if group is not None:
        yield group
    if next(sources, None) is not None:
        last = 0 if group is None else group.number
        raise DataError(f"{source_name} goes on behind line {last:,}, where {name} ends; {remedy}")


def _flows(path: Path) -> bool:
    """Tell whether what is in a file can be read only once, as out of a pipe."""
    return path.is_fifo() or path.is_char_device()


def _check_standard_input() -> None:
    if sys.stdin is None:
        raise DataError("standard input is closed; name a file, or send text to it")

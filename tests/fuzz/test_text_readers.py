"""Text comes in as many lines as it has line feeds, or not at all."""

import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fuzz import oracle
from fuzz.cases import each_tier, try_cases
from fuzz.damage import damages
from fuzz.messages import check_message
from fuzz.text import as_utf8, documents, lines, numbered
from nmtkit.corpus.cleaning import KeptPair
from nmtkit.corpus.lines import GZIP, LineCounts, clean, clean_lines, count_lines, read_lines, stream_lines
from nmtkit.corpus.pair import SentencePair
from nmtkit.corpus.reader import PairCounts, ParallelText
from nmtkit.corpus.spool import read_spool, write_spool
from nmtkit.errors import DataError
from nmtkit.translation.arrivals import Arrivals


def taken(items: Iterator[Any]) -> tuple[list[Any], DataError | None]:
    """Return what comes of an iterator, and the error that ended it."""
    found = []
    try:
        for item in items:
            found.append(item)
    except DataError as error:
        return found, error
    return found, None


def plain(content: bytes) -> bool:
    """Tell whether a file of this content is taken as it is."""
    return not content.startswith(GZIP)


@each_tier
def test_lines_of_a_file(tier: str, tmp_path: Path) -> None:
    @given(content=documents(), packed=st.booleans())
    @example(content=b"", packed=False)
    @example(content=b"\xef\xbb\xbf", packed=False)
    @example(content=b"\n" * 100_000, packed=True)
    @example(content=b"\r\r\n\xef\xbb\xbf\r", packed=False)
    def check(content: bytes, packed: bool) -> None:
        assume(packed or plain(content))
        path = tmp_path / ("text.gz" if packed else "text")
        path.write_bytes(gzip.compress(content, 1) if packed else content)
        raws = oracle.raw_lines(content)
        assert len(raws) == oracle.count(content)

        counts = LineCounts()
        assert list(read_lines(path, invalid="replace", counts=counts)) == [oracle.mended(raw) for raw in raws]
        assert all(oracle.is_one_line(oracle.mended(raw)) for raw in raws)
        bad = [place for place, raw in enumerate(raws, 1) if oracle.first_bad_byte(raw) is not None]
        assert (counts.lines, counts.invalid_lines) == (len(raws), len(bad))
        assert counts.first_invalid == (bad[0] if bad else 0)
        valid = [raw.decode() for raw in raws if oracle.first_bad_byte(raw) is None]
        if not bad:
            assert counts.separators_replaced == sum(oracle.is_separator(char) for text in valid for char in text)
            assert counts.controls_removed == sum(oracle.is_control(char) for text in valid for char in text)

        assert list(read_lines(path, invalid="mark")) == [oracle.strict(raw) for raw in raws]
        found, error = taken(read_lines(path))
        assert found == [oracle.strict(raw) for raw in (raws[: bad[0] - 1] if bad else raws)]
        if bad:
            assert error is not None
            byte = oracle.first_bad_byte(raws[bad[0] - 1])
            check_message(error, f"{path}, line {bad[0]}, byte {byte + 1}:")
        else:
            assert error is None

        if raws:
            assert count_lines(path) == len(raws)
        else:
            with pytest.raises(DataError) as empty:
                count_lines(path)
            check_message(empty.value, path, "is empty")

    try_cases(check, tier)


@each_tier
def test_a_damaged_gzip_file(tier: str, tmp_path: Path) -> None:
    """Its checksum tells damage to the text; damage to what gzip does not need changes no line."""
    path = tmp_path / "text.gz"

    @given(content=documents(), damage=damages())
    def check(content: bytes, damage: Any) -> None:
        whole = gzip.compress(content, 1, mtime=0)
        broken = damage(whole)
        path.write_bytes(broken)
        found, error = taken(read_lines(path, invalid="replace"))
        if error is not None:
            check_message(error, path)
            with pytest.raises(DataError):
                count_lines(path)
        elif broken:
            assert found == [oracle.mended(raw) for raw in oracle.raw_lines(gzip.decompress(broken))]
        else:
            assert found == []

    try_cases(check, tier)


@each_tier
def test_two_files(tier: str, tmp_path: Path) -> None:
    text = ParallelText("both", tmp_path / "a.en", tmp_path / "a.de")
    any_lines = st.integers(0, 5).flatmap(lambda count: st.tuples(numbered(count), numbered(count)))
    equal = st.one_of(
        any_lines, any_lines.flatmap(lambda sides: st.tuples(*(as_utf8(st.just(side)) for side in sides)))
    )

    @given(sides=st.one_of(equal, st.tuples(documents(5), documents(5))))
    @example(sides=(b"", b"\n"))
    @example(sides=(b"one\n\xff", b"\xfe"))
    def check(sides: tuple[bytes, bytes]) -> None:
        assume(all(plain(side) for side in sides))
        for path, side in zip(text.files, sides, strict=True):
            path.write_bytes(side)
        raws = [oracle.raw_lines(side) for side in sides]
        counts = [oracle.count(side) for side in sides]
        wanted = [(oracle.strict(one), oracle.strict(other)) for one, other in zip(raws[0], raws[1], strict=False)]
        marked = [None if None in pair else pair for pair in wanted]

        found, error = taken(text.pairs(PairCounts(), "mark"))
        assert found == marked
        if counts[0] != counts[1]:
            assert error is not None
            if all(counts):
                check_message(error, *(f"{path} has {n}" for path, n in zip(text.files, counts, strict=True)))
            else:
                check_message(error, text.files[counts.index(0)], "is empty")
        else:
            assert error is None

        found, error = taken(text.pairs(PairCounts()))
        broken = marked.index(None) if None in marked else None
        assert found == marked[:broken]
        assert (error is None) == (broken is None and counts[0] == counts[1])
        if broken is not None:
            check_message(error, f"line {broken + 1}, byte ")
        if counts[0] == counts[1] and all(counts):
            assert text.count_pairs() == counts[0]
        else:
            with pytest.raises(DataError) as refused:
                text.count_pairs()
            check_message(refused.value)

    try_cases(check, tier)


@each_tier
def test_tab_separated_pairs(tier: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    text = ParallelText("tsv", path, None)
    columns = st.sampled_from([2] * 12 + [1, 3, 4]).flatmap(
        lambda count: st.lists(lines(), min_size=count, max_size=count)
    )
    row = columns.map(lambda cells: b"\t".join(cell.translate(None, b"\t\n") for cell in cells) + b"\n")

    @given(
        content=st.one_of(
            st.lists(row, max_size=6).map(b"".join), st.lists(row, max_size=6).map(b"".join), documents(5)
        )
    )
    @example(content=b"\xef\xbb\xbf\t\r\n\t")
    def check(content: bytes) -> None:
        assume(plain(content))
        path.write_bytes(content)
        raws = oracle.raw_lines(content)
        columns = [raw.split(b"\t") if oracle.first_bad_byte(raw) is None else None for raw in raws]
        marked = [None if sides is None else tuple(map(oracle.mended, sides)) for sides in columns]
        wrong = next((place for place, pair in enumerate(marked) if pair is not None and len(pair) != 2), None)
        broken = next((place for place, pair in enumerate(marked) if pair is None or len(pair) != 2), None)

        found, error = taken(text.pairs(PairCounts(), "mark"))
        assert found == marked[:wrong]
        if wrong is None:
            assert error is None
        else:
            check_message(error, f"{path}, line {wrong + 1}: {len(marked[wrong])} column")
        found, error = taken(text.pairs(PairCounts()))
        assert found == marked[:broken]
        if broken is None:
            assert error is None
        else:
            check_message(error, f"{path}, line {broken + 1}")
        if raws:
            assert text.count_pairs() == len(raws)

    try_cases(check, tier)


@each_tier
def test_pairs_between_cleaning_and_packing(tier: str, tmp_path: Path) -> None:
    path = tmp_path / ".text.tmp"
    texts = lines().map(lambda line: clean(line.decode("utf-8", "replace")))

    @given(sides=st.lists(st.tuples(texts, texts), max_size=6), first=st.integers(1, 2**40))
    def check(sides: list[tuple[str, str]], first: int) -> None:
        pairs = [KeptPair(place, first + place, SentencePair(*pair)) for place, pair in enumerate(sides)]
        write_spool(path, pairs)
        assert list(read_spool(path)) == pairs

    try_cases(check, tier)


class InPieces(io.RawIOBase):
    """A stream that gives its content in pieces of these sizes, over and over, as a pipe may."""

    def __init__(self, content: bytes, sizes: list[int]) -> None:
        self._content, self._sizes = content, sizes
        self._reads = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = min(len(buffer), self._sizes[self._reads % len(self._sizes)])
        piece, self._content = self._content[:size], self._content[size:]
        self._reads += 1
        buffer[: len(piece)] = piece
        return len(piece)


@each_tier
def test_standard_input_in_any_pieces(tier: str) -> None:
    @given(
        content=documents(),
        packed=st.booleans(),
        sizes=st.lists(st.integers(1, 20), min_size=1, max_size=5),
        chunk=st.integers(1, 5),
        grace=st.sampled_from([None, 0.0, 0.001]),
    )
    @example(content=b"one\ntwo\n", packed=True, sizes=[1], chunk=1, grace=None)
    def check(content: bytes, packed: bool, sizes: list[int], chunk: int, grace: float | None) -> None:
        assume(packed or plain(content))
        counts = LineCounts()
        # Gzip is told by its first two bytes, which no program writes one by one.
        pieces = InPieces(gzip.compress(content, 1), [2, *sizes]) if packed else InPieces(content, sizes)
        stream = io.BufferedReader(pieces)
        raws = stream_lines(stream, "standard input")
        clean_ones = clean_lines(raws, "standard input", invalid="replace", counts=counts)
        chunks = list(Arrivals(clean_ones, chunk, grace=grace))
        assert [line for chunk in chunks for line in chunk] == list(map(oracle.mended, oracle.raw_lines(content)))
        assert all(1 <= len(found) <= chunk for found in chunks)
        if grace is None:
            assert all(len(found) == chunk for found in chunks[:-1])
        assert counts.lines == oracle.count(content)

    try_cases(check, tier)

"""Text comes in as many lines as it has line feeds, or not at all."""

import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from toy.formats import PACKERS

from fuzz import oracle
from fuzz.cases import each_tier, try_cases
from fuzz.damage import damages
from fuzz.messages import check_message
from fuzz.taking import taken
from fuzz.text import documents, plain
from nmtkit.corpus.archives import archive_of_files
from nmtkit.corpus.lines import LineCounts, clean_lines, count_lines, read_lines, stream_lines
from nmtkit.errors import DataError
from nmtkit.translation.arrivals import Arrivals

ENDINGS = ["", *PACKERS, ""]
"""Of packed and plain files."""


@each_tier
def test_lines_of_a_file(tier: str, tmp_path: Path) -> None:
    @given(content=documents(), ending=st.sampled_from(ENDINGS))
    @example(content=b"", ending="")
    @example(content=b"\xef\xbb\xbf", ending="")
    @example(content=b"\n" * 100_000, ending=".gz")
    @example(content=b"\n" * 100_000, ending=".zst")
    @example(content=b"\r\r\n\xef\xbb\xbf\r", ending="")
    def check(content: bytes, ending: str) -> None:
        assume(not archive_of_files(content) if ending else plain(content))
        path = tmp_path / f"text{ending}"
        path.write_bytes(PACKERS[ending](content))
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
            byte = oracle.broken_byte(raws[bad[0] - 1])
            check_message(error, f"{path}, line {bad[0]}, byte {byte}:")
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
def test_a_damaged_packed_file(tier: str, tmp_path: Path) -> None:
    """Its checksum tells damage to the text; damage to what the format does not need changes no line."""

    @given(content=documents(), ending=st.sampled_from([ending for ending in PACKERS if ending]), damage=damages())
    @example(content=b"one\ntwo\n", ending=".bz2", damage=lambda whole: whole + whole)
    @example(content=b"one\ntwo\n", ending=".xz", damage=lambda whole: whole + bytes(8) + whole)
    def check(content: bytes, ending: str, damage: Any) -> None:
        path = tmp_path / f"text{ending}"
        broken = damage(PACKERS[ending](content))
        path.write_bytes(broken)
        found, error = taken(read_lines(path, invalid="replace"))
        if error is not None:
            check_message(error, path)
            with pytest.raises(DataError):
                count_lines(path)
        else:
            assert found == [oracle.mended(raw) for raw in oracle.raw_lines(oracle.unpacked(broken, ending))]

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
        ending=st.sampled_from(ENDINGS),
        sizes=st.lists(st.integers(1, 20), min_size=1, max_size=5),
        chunk=st.integers(1, 5),
        grace=st.sampled_from([None, 0.0, 0.001]),
    )
    @example(content=b"one\ntwo\n", ending=".gz", sizes=[1], chunk=1, grace=None)
    def check(content: bytes, ending: str, sizes: list[int], chunk: int, grace: float | None) -> None:
        assume(not archive_of_files(content) if ending else plain(content))
        counts = LineCounts()
        # How it is packed is told by its first ten bytes at most, which no program writes one by one.
        stream: io.BufferedReader = io.BufferedReader(
            InPieces(PACKERS[ending](content), [10, *sizes] if ending else sizes)
        )
        raws = stream_lines(stream, "standard input")
        clean_ones = clean_lines(raws, "standard input", invalid="replace", counts=counts)
        chunks = list(Arrivals(clean_ones, chunk, grace=grace))
        assert [line for chunk in chunks for line in chunk] == list(map(oracle.mended, oracle.raw_lines(content)))
        assert all(1 <= len(found) <= chunk for found in chunks)
        if grace is None:
            assert all(len(found) == chunk for found in chunks[:-1])
        assert counts.lines == oracle.count(content)

    try_cases(check, tier)

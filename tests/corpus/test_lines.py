import gzip
import io
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.corpus.archives import archive_of_files, packing_of
from nmtkit.corpus.lines import (
    LineCounts,
    clean,
    clean_lines,
    count_lines,
    raw_lines,
    read_lines,
    split_lines,
)
from nmtkit.errors import DataError


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", ["text", "text.gz"])
def test_only_a_line_feed_ends_a_line(tmp_path: Path, name: str) -> None:
    inside = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei\x1fj\rk"
    path = write(tmp_path / name, f"{inside}\nnext\n".encode())
    counts = LineCounts()
    assert list(read_lines(path, counts=counts)) == ["a b c d e f g h i j k", "next"]
    assert (counts.lines, counts.separators_replaced, counts.first_separator) == (2, 10, 1)


def test_one_carriage_return_at_the_end_belongs_to_the_line_end(tmp_path: Path) -> None:
    path = write(tmp_path / "text", b"one\r\ntwo\r\r\n\r\nfour\r")
    assert list(read_lines(path)) == ["one", "two ", "", "four"]


def test_one_byte_order_mark_at_the_start_of_a_file_goes(tmp_path: Path) -> None:
    path = write(tmp_path / "text", b"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n")
    assert list(read_lines(path)) == ["one", "\ufefftwo"]


def test_other_controls_are_removed_and_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "text", b"fine\na\x00b\x07c\x1bd\ttab\n")
    counts = LineCounts()
    assert list(read_lines(path, counts=counts)) == ["fine", "abcd tab"]
    assert (counts.controls_removed, counts.first_control) == (3, 2)
    assert (counts.separators_replaced, counts.first_separator) == (1, 2)


def test_an_empty_last_line_needs_its_line_feed(tmp_path: Path) -> None:
    assert list(read_lines(write(tmp_path / "a", b"one\n\n"))) == ["one", ""]
    assert list(read_lines(write(tmp_path / "b", b"one\ntwo"))) == ["one", "two"]


def test_bytes_that_are_not_utf8_are_named_by_file_line_and_byte(tmp_path: Path) -> None:
    path = write(tmp_path / "text", "größe\n".encode() + b"caf\xe9 noir\n")
    with pytest.raises(DataError, match=r"text, line 2, byte 4: 0xe9 is not UTF-8; convert the file to UTF-8$"):
        list(read_lines(path))


def test_invalid_lines_can_be_marked_or_mended(tmp_path: Path) -> None:
    path = write(tmp_path / "text", b"one\n\xff\xfetwo\xe9\nthree\n\xed\xa0\x80\n")
    counts = LineCounts()
    assert list(read_lines(path, invalid="mark", counts=counts)) == ["one", None, "three", None]
    assert (counts.invalid_lines, counts.invalid_bytes, counts.first_invalid) == (2, 6, 2)
    assert list(read_lines(path, invalid="replace")) == ["one", "\ufffd\ufffdtwo\ufffd", "three", "\ufffd" * 3]


def test_a_huge_line_is_one_line(tmp_path: Path) -> None:
    path = write(tmp_path / "text.gz", b"x" * 5_000_000 + b"\nnext\n")
    assert [len(line) for line in read_lines(path)] == [5_000_000, 4]


def test_reading_is_lazy(tmp_path: Path) -> None:
    path = write(tmp_path / "text", b"fine\n\xff\n")
    lines = read_lines(path)
    assert next(lines) == "fine"


def test_gzip_is_told_by_content(tmp_path: Path) -> None:
    path = tmp_path / "no_suffix"
    path.write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    assert list(read_lines(path)) == ["one", "two"]


def broken_gzip(tmp_path: Path, cut: int) -> Path:
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(os.urandom(3_000) + b"\n")[:cut])
    return path


@pytest.mark.parametrize("read", [lambda path: list(raw_lines(path)), count_lines])
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, read) -> None:
    with pytest.raises(DataError, match=r"damaged gzip file .*; fetch or compress it again"):
        read(broken_gzip(tmp_path, 1_000))
    corrupt = tmp_path / "corrupt.gz"
    packed = bytearray(gzip.compress(b"some text that packs to a few bytes\n" * 50))
    packed[-6] ^= 0xFF
    corrupt.write_bytes(packed)
    with pytest.raises(DataError, match="damaged gzip file"):
        read(corrupt)
    plain = tmp_path / "plain.gz"
    plain.write_bytes(b"not packed\n")
    with pytest.raises(DataError, match=r"plain.gz is named .gz but is no gzip file; rename it or compress it"):
        read(plain)
    with pytest.raises(DataError, match=r"gone.en does not exist; check the name$"):
        read(tmp_path / "gone.en")
    with pytest.raises(DataError, match="is a folder; give a file"):
        read(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "text", b"one\n")
    path.chmod(0)
    with pytest.raises(DataError, match="cannot be read: Permission denied; check its permissions"):
        list(read_lines(path))


def test_counting_needs_at_least_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is empty; give a file with one sentence a line"):
        count_lines(write(tmp_path / "text", b""))


@given(st.binary(max_size=200))
def test_as_many_lines_as_counted_and_each_on_one_line(content: bytes) -> None:
    lines = list(clean_lines(split_lines(io.BytesIO(content)), "stdin", invalid="replace"))
    assert len(lines) == content.count(b"\n") + (not content.endswith(b"\n") and content != b"")
    assert all(line.splitlines() in ([], [line]) for line in lines)


@given(st.lists(st.binary(max_size=40).filter(lambda raw: b"\n" not in raw), min_size=1, max_size=5))
def test_count_lines_agrees_with_reading(tmp_path_factory: pytest.TempPathFactory, raws: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("count") / "text"
    content = b"\n".join(raws)
    path.write_bytes(content)
    if content and packing_of(content) is None and not archive_of_files(content):
        assert count_lines(path) == len(list(raw_lines(path)))


@given(st.text())
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    once = clean(text)
    counts = LineCounts()
    assert clean(once, counts) == once
    assert counts == LineCounts()


def test_a_lone_surrogate_becomes_a_replacement_character() -> None:
    counts = LineCounts()
    assert clean("a\ud83db\n", counts) == "a\ufffdb "
    assert counts.invalid_bytes == 1

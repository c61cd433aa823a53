"""Lines: the only way text enters nmtkit. Bytes are cut at 0x0A only; what is no text is counted or named.

A line loses one CR at its end, a file one byte order mark at its start. White-space controls and the characters
that other programs take for line ends become a space, other C0 controls vanish, both counted.
"""

import io
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple, overload

from nmtkit.corpus.archives import opened, reading, unpacked
from nmtkit.corpus.characters import CONTROLS, SEPARATORS
from nmtkit.corpus.sgm import is_sgm, read_segments
from nmtkit.errors import DataError

BOM = b"\xef\xbb\xbf"
BLOCK = 1 << 20
"""Bytes of text read at a time."""
LONGEST = 1 << 26
"""Bytes that a line may have. What is longer is no sentence and would fill the memory."""

# Where str.splitlines cuts, and the tab; \n can only come from Python callers.
_SEPARATORS = re.compile(f"[\n{''.join(sorted(SEPARATORS))}]")
_CONTROLS = re.compile(f"[{''.join(sorted(CONTROLS))}]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_UNCLEAN = re.compile("[\x00-\x1f\x85\u2028\u2029\ud800-\udfff]")

Invalid = Literal["error", "mark", "replace"]
"""What becomes of a line that is not UTF-8: EncodingError, None in its place, or U+FFFD for each bad byte (counted)."""


class EncodingError(DataError):
    """A line that is not UTF-8, named by file, line and byte."""


@dataclass
class LineCounts:
    """What cleaning met, and where first (lines from 1; 0: nowhere)."""

    lines: int = 0
    separators_replaced: int = 0
    first_separator: int = 0
    controls_removed: int = 0
    first_control: int = 0
    invalid_bytes: int = 0
    invalid_lines: int = 0
    first_invalid: int = 0


class Place(NamedTuple):
    """What messages call the lines of a file: "name, line 7, column 2". Line n is number n + `before` in its corpus."""

    name: str
    before: int = 0
    unit: str = "line"
    column: str = ""

    def of(self, number: int) -> str:
        """Return the name of the line that is number `number` in its corpus."""
        return f"{self.name}, {self.unit} {number - self.before}{self.column}"


class Chunk(NamedTuple):
    """Raw lines that follow one another (never none), and how many bytes of the file were read to get them."""

    lines: list[bytes]
    read: int


@overload
def read_lines(
    path: Path, *, invalid: Literal["error", "replace"] = "error", counts: LineCounts | None = None
) -> Iterator[str]: ...


@overload
def read_lines(path: Path, *, invalid: Invalid, counts: LineCounts | None = None) -> Iterator[str | None]: ...


def read_lines(
    path: Path, *, invalid: Invalid = "error", counts: LineCounts | None = None
) -> Iterator[str] | Iterator[str | None]:
    """Yield the clean lines of a file, plain or packed, one at a time; of an SGM file the texts of its segments.

    Raises DataError where the file is missing, unreadable, a damaged archive, or, with invalid="error", not UTF-8.
    """
    place = Place(str(path), unit="segment" if is_sgm(path) else "line")
    return clean_lines(raw_lines(path), place, invalid=invalid, counts=counts)


@overload
def clean_lines(
    raws: Iterable[bytes],
    place: Place | str,
    *,
    invalid: Literal["error", "replace"] = "error",
    counts: LineCounts | None = None,
) -> Iterator[str]: ...


@overload
def clean_lines(
    raws: Iterable[bytes], place: Place | str, *, invalid: Invalid, counts: LineCounts | None = None
) -> Iterator[str | None]: ...


def clean_lines(
    raws: Iterable[bytes], place: Place | str, *, invalid: Invalid = "error", counts: LineCounts | None = None
) -> Iterator[str] | Iterator[str | None]:
    """Yield the text of raw lines, one at a time; `place` is what messages call their file ("standard input")."""
    counts = counts if counts is not None else LineCounts()
    for raw in raws:
        counts.lines += 1
        text = decode(raw, place, counts, invalid)
        yield None if text is None else clean(text, counts)


def decode(
    raw: bytes, place: Place | str, counts: LineCounts, invalid: Invalid = "error", number: int = 0
) -> str | None:
    """Return a raw line as text, without one CR at its end; None where it is marked as invalid.

    `number` is that of the line in its corpus, else `counts.lines`. Raises EncodingError.
    """
    raw = raw.removesuffix(b"\r")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        number = number or counts.lines
        counts.first_invalid = counts.first_invalid or number
        counts.invalid_lines += 1
        if invalid == "error":
            place = Place(place) if isinstance(place, str) else place
            raise EncodingError(
                f"{place.of(number)}, byte {error.start + 1}: 0x{raw[error.start]:02x} is not UTF-8; "
                "convert the file to UTF-8"
            ) from None
    # Each bad byte becomes one lone surrogate, which no valid UTF-8 yields.
    text, bad = _SURROGATES.subn("\ufffd", raw.decode("utf-8", errors="surrogateescape"))
    counts.invalid_bytes += bad
    return None if invalid == "mark" else text


def clean(text: str, counts: LineCounts | None = None, number: int = 0) -> str:
    """Return decoded text without anything that could end a line.

    Lone surrogates, which a Python caller may hand in, become U+FFFD. Clean text stays as it is. `number` is that of
    the line in its corpus, else `counts.lines`.
    """
    if _UNCLEAN.search(text) is None:
        return text
    counts = counts if counts is not None else LineCounts()
    text, replaced = _SEPARATORS.subn(" ", text)
    text, removed = _CONTROLS.subn("", text)
    text, invalid = _SURROGATES.subn("\ufffd", text)
    counts.separators_replaced += replaced
    counts.controls_removed += removed
    counts.invalid_bytes += invalid
    if replaced and not counts.first_separator:
        counts.first_separator = number or counts.lines
    if removed and not counts.first_control:
        counts.first_control = number or counts.lines
    return text


def raw_lines(path: Path) -> Iterator[bytes]:
    """Yield the raw lines of a file, plain or packed, without line feed and BOM; of an SGM file its segments.

    What comes little by little, as out of a pipe, is yielded as it comes.
    """
    if is_sgm(path):
        yield from (segment.text for segment in read_segments(path))
        return
    with opened(path) as (stream, _):
        yield from split_lines(stream, str(path))


def stream_lines(stream: io.BufferedReader, name: str) -> Iterator[bytes]:
    """Yield the raw lines of a stream, plain or packed, as they come; `name` is what messages call it.

    Raises DataError where it cannot be read and where it is a damaged archive.
    """
    with reading(name):
        yield from split_lines(unpacked(stream, name), name)


def split_lines(stream: io.BufferedIOBase, name: str = "text") -> Iterator[bytes]:
    """Yield the raw lines of a binary stream as they come, without line feed and BOM."""
    return chain.from_iterable(_split(partial(stream.read1, BLOCK), name))


def line_chunks(path: Path, size: int, name: str = "") -> Iterator[Chunk]:
    """Yield the raw lines of a file, plain or packed, or the segments of an SGM file: about `size` bytes at a time."""
    if is_sgm(path):
        yield from _segment_chunks(path, size, name)
        return
    before = 0
    with opened(path, name) as (stream, position):
        for lines in _split(partial(stream.read, max(size, 1)), name or str(path)):
            yield Chunk(lines, position() - before)
            before = position()


def _segment_chunks(path: Path, size: int, name: str) -> Iterator[Chunk]:
    segments = read_segments(path, name)
    lines: list[bytes] = []
    length, read = 0, path.stat().st_size
    for segment in segments:
        lines.append(segment.text)
        length += len(segment.text) + 1
        if length >= size:
            yield Chunk(lines, read)
            lines, length, read = [], 0, 0
    if lines:
        yield Chunk(lines, read)


def _split(read: Callable[[], bytes], name: str) -> Iterator[list[bytes]]:
    """Yield the lines in what `read` returns, call by call, until it returns nothing."""
    number, begun, length = 0, list[bytes](), 0
    while block := read():
        end = block.rfind(b"\n")
        if end < 0:
            begun.append(block)
            length += len(block)
            if length > LONGEST:
                raise DataError(
                    f"{name}, line {number + 1} is longer than {LONGEST >> 20} MiB; give text with one sentence a line"
                )
            continue
        lines = b"".join([*begun, block[:end]]).split(b"\n")
        begun, length = [block[end + 1 :]], len(block) - end - 1
        if not number:
            lines[0] = lines[0].removeprefix(BOM)
        number += len(lines)
        yield lines
    last = b"".join(begun)
    if last:
        yield [last if number else last.removeprefix(BOM)]


def count_lines(path: Path, name: str = "") -> int:
    """Return the number of lines of a file, plain or packed, or of segments. Raises DataError where it holds none."""
    count = 0
    last = b"\n"
    if is_sgm(path):
        count = len(read_segments(path, name))
    else:
        with opened(path, name) as (stream, _):
            while block := stream.read(BLOCK):
                count += block.count(b"\n")
                last = block[-1:]
    count += last != b"\n"
    if not count:
        raise DataError(f"{name or path} is empty; give a file with one sentence a line")
    return count

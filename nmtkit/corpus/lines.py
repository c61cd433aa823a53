"""Lines: the only way text enters nmtkit. Bytes are cut at 0x0A only; what is no text is counted or named.

A line loses one CR at its end, a file one byte order mark at its start. White-space controls and the characters
that other programs take for line ends become a space, other C0 controls vanish, both counted.
"""

import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, cast, overload

from nmtkit.errors import DataError

BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"

# \x1c-\x1f, NEL, U+2028 and U+2029 are where str.splitlines cuts; \n can only come from Python callers.
_SEPARATORS = re.compile("[\t\n\v\f\r\x1c-\x1f\x85\u2028\u2029]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1b]")
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


@overload
def read_lines(
    path: Path, *, invalid: Literal["error", "replace"] = "error", counts: LineCounts | None = None
) -> Iterator[str]: ...


@overload
def read_lines(path: Path, *, invalid: Invalid, counts: LineCounts | None = None) -> Iterator[str | None]: ...


def read_lines(
    path: Path, *, invalid: Invalid = "error", counts: LineCounts | None = None
) -> Iterator[str] | Iterator[str | None]:
    """Yield the clean lines of a file, plain or gzip, one at a time.

    Raises DataError where the file is missing, unreadable, a damaged gzip file, or, with invalid="error", not UTF-8.
    """
    return clean_lines(raw_lines(path), str(path), invalid=invalid, counts=counts)


@overload
def clean_lines(
    raws: Iterable[bytes],
    name: str,
    *,
    invalid: Literal["error", "replace"] = "error",
    counts: LineCounts | None = None,
) -> Iterator[str]: ...


@overload
def clean_lines(
    raws: Iterable[bytes], name: str, *, invalid: Invalid, counts: LineCounts | None = None
) -> Iterator[str | None]: ...


def clean_lines(
    raws: Iterable[bytes], name: str, *, invalid: Invalid = "error", counts: LineCounts | None = None
) -> Iterator[str] | Iterator[str | None]:
    """Yield the text of raw lines; `name` is what messages call their file ("standard input")."""
    counts = counts if counts is not None else LineCounts()
    for raw in raws:
        counts.lines += 1
        text = decode(raw, name, counts, invalid)
        yield None if text is None else clean(text, counts)


def decode(raw: bytes, name: str, counts: LineCounts, invalid: Invalid = "error") -> str | None:
    """Return line number `counts.lines` as text, without one CR at its end; None where it is marked as invalid."""
    raw = raw.removesuffix(b"\r")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        counts.first_invalid = counts.first_invalid or counts.lines
        counts.invalid_lines += 1
        if invalid == "error":
            raise EncodingError(
                f"{name}, line {counts.lines}, byte {error.start + 1}: 0x{raw[error.start]:02x} is not UTF-8; "
                "convert the file to UTF-8"
            ) from None
    # Each bad byte becomes one lone surrogate, which no valid UTF-8 yields.
    text, bad = _SURROGATES.subn("\ufffd", raw.decode("utf-8", errors="surrogateescape"))
    counts.invalid_bytes += bad
    return None if invalid == "mark" else text


def clean(text: str, counts: LineCounts | None = None) -> str:
    """Return decoded text without anything that could end a line; `counts.lines` is the number of its line.

    Lone surrogates, which a Python caller may hand in, become U+FFFD. Clean text stays as it is.
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
        counts.first_separator = counts.lines
    if removed and not counts.first_control:
        counts.first_control = counts.lines
    return text


def raw_lines(path: Path) -> Iterator[bytes]:
    """Yield the raw lines of a file, plain or gzip (told by its first bytes), without line feed and BOM."""
    with _opened(path) as stream:
        yield from split_lines(stream)


def stream_lines(stream: io.BufferedReader, name: str) -> Iterator[bytes]:
    """Yield the raw lines of a stream, plain or gzip, as they come; `name` is what messages call it.

    Raises DataError where it cannot be read and where it is damaged gzip.
    """
    with reading(name), _unpacked(stream) as lines:
        yield from split_lines(lines)


def split_lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the raw lines of a binary stream as they come, without line feed and BOM."""
    first = True
    for raw in stream:  # a binary stream is cut at 0x0A only
        yield (raw.removeprefix(BOM) if first else raw).removesuffix(b"\n")
        first = False


def count_lines(path: Path) -> int:
    """Return the number of lines of a file, plain or gzip. Raises DataError where it holds none."""
    count = 0
    last = b"\n"
    with _opened(path) as stream:
        while block := stream.read(1 << 20):
            count += block.count(b"\n")
            last = block[-1:]
    count += last != b"\n"
    if not count:
        raise DataError(f"{path} is empty; give a file with one sentence a line")
    return count


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Tell in a DataError why the file called `name` cannot be read."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{name} does not exist; check the name") from None
    except IsADirectoryError:
        raise DataError(f"{name} is a folder; give a file with one sentence a line") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{name} is a damaged gzip file ({error}); fetch or compress it again") from None
    except OSError as error:
        raise DataError(
            f"{name} cannot be read: {error.strerror or error}; check its permissions and its disk"
        ) from None


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file, plain or gzip, and tell what is wrong with it in a DataError."""
    with reading(str(path)), path.open("rb") as plain:
        if path.suffix == ".gz" and plain.peek(2)[:2] not in (GZIP, b""):
            raise DataError(f"{path} is named .gz but is no gzip file; rename it or compress it")
        with _unpacked(plain) as lines:
            yield lines


@contextmanager
def _unpacked(stream: io.BufferedReader) -> Iterator[BinaryIO]:
    """Give the content of a stream, plain or gzip, which its first bytes tell."""
    if stream.peek(2)[:2] != GZIP:
        yield stream
        return
    with gzip.open(stream, "rb") as unpacked:
        # GzipFile cuts lines in Python; a buffer around it does so in C.
        yield io.BufferedReader(cast(io.RawIOBase, unpacked), 1 << 16)

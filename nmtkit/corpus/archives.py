"""Archives: the content of a file, plain or packed by gzip, bzip2, xz or Zstandard, which its first bytes tell.

Members or frames that follow one another are one text. What is damaged or cut off is a DataError, never a shorter text.
"""

import io
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from nmtkit.errors import DataError

BUFFER = 1 << 16
"""Packed bytes read at a time."""

_TAR_MARK = slice(257, 262)
_ZIP = b"PK\x03\x04"


class Decompressor(Protocol):
    """What unpacks one member, as in bz2, lzma and compression.zstd."""

    @property
    def eof(self) -> bool: ...  # noqa: D102
    @property
    def needs_input(self) -> bool: ...  # noqa: D102
    @property
    def unused_data(self) -> bytes: ...  # noqa: D102
    def decompress(self, data: bytes, max_length: int) -> bytes: ...  # noqa: D102


class _Gzip:
    """zlib under the same interface. With 31 it reads the header and checks length and checksum at the end."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(31)

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def needs_input(self) -> bool:
        return not self._inflate.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inflate.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inflate.decompress(self._inflate.unconsumed_tail + data, max_length)


class Packing(NamedTuple):
    """A way of packing: its name, the ending of its files, their first bytes.

    `load` returns what starts a decompressor, and the error of damaged data. Raises ImportError where Python was built
    without the library.
    """

    name: str
    ending: str
    begin: re.Pattern[bytes]
    load: Callable[[], tuple[Callable[[], Decompressor], type[Exception]]]


def _load_bzip2() -> tuple[Callable[[], Decompressor], type[Exception]]:
    import bz2

    return cast(Any, bz2.BZ2Decompressor), OSError


def _load_xz() -> tuple[Callable[[], Decompressor], type[Exception]]:
    import lzma

    return cast(Any, lzma.LZMADecompressor), lzma.LZMAError


def _load_zstd() -> tuple[Callable[[], Decompressor], type[Exception]]:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]
    except ImportError:  # before Python 3.14
        from backports import zstd
    # `zstd --long=31` asks for so large a window; the limit of the library is 27, that of files without --long.
    options = {zstd.DecompressionParameter.window_log_max: 31}
    return lambda: cast(Decompressor, zstd.ZstdDecompressor(options=options)), cast(Any, zstd.ZstdError)


PACKINGS = (
    Packing("gzip", ".gz", re.compile(rb"\x1f\x8b"), lambda: (_Gzip, zlib.error)),
    # The magic number of the first block, or of the end where there is none, follows: text may begin with BZh.
    Packing(
        "bzip2",
        ".bz2",
        re.compile(rb"BZh[1-9](?:1AY&SY|\x17\x72\x45\x38\x50\x90)"),
        _load_bzip2,
    ),
    Packing("xz", ".xz", re.compile(rb"\xfd7zXZ\x00"), _load_xz),
    # A frame of text, or one to be skipped, which some programs write before it.
    Packing("zstd", ".zst", re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), _load_zstd),
)
ENDINGS = tuple(packing.ending for packing in PACKINGS)
"""The endings of packed files."""


class _Unpacked(io.RawIOBase):
    """The content of a packed stream, member after member."""

    def __init__(self, packed: io.BufferedReader, packing: Packing, name: str) -> None:
        self._packed, self._packing, self._name = packed, packing, name
        try:
            self._start, self._error = packing.load()
        except ImportError as error:
            raise DataError(
                f"{name} is packed by {packing.name}, for which this Python lacks a module ({error}); unpack it first"
            ) from None
        self._decompressor = self._start()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _read(self, size: int) -> bytes:
        """Return at least one byte and at most `size`; none at the end."""
        while True:
            given = b""
            if self._decompressor.eof:
                given = self._next_member()
                if not given:
                    return b""
                self._decompressor = self._start()
            elif self._decompressor.needs_input:
                given = self._packed.read1(BUFFER)
                if not given:
                    raise self._damaged("it ends too early")
            try:
                data = self._decompressor.decompress(given, size)
            except (self._error, MemoryError) as error:
                raise self._damaged(str(error) or "it asks for more memory than there is") from None
            if data:
                return data

    def _next_member(self) -> bytes:
        """Return the begin of what follows a member but for zeros, which tapes and xz put between; none at the end."""
        rest = self._decompressor.unused_data.lstrip(b"\0")
        while not rest:
            more = self._packed.read1(BUFFER)
            if not more:
                return b""
            rest = more.lstrip(b"\0")
        return rest

    def _damaged(self, why: str) -> DataError:
        return DataError(f"{self._name} is a damaged {self._packing.name} file ({why}); fetch or compress it again")


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Tell in a DataError why the file called `name` cannot be read."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{name} does not exist; check the name") from None
    except IsADirectoryError:
        raise DataError(f"{name} is a folder; give a file with one sentence a line") from None
    except OSError as error:
        raise DataError(
            f"{name} cannot be read: {error.strerror or error}; check its permissions and its disk"
        ) from None


def packing_of(begin: bytes) -> Packing | None:
    """Return how a file that begins with these bytes (ten will do) is packed; None: not at all."""
    return next((packing for packing in PACKINGS if packing.begin.match(begin)), None)


def archive_of_files(begin: bytes) -> str:
    """Return the kind of archive of files that begins with these bytes (512 will do); empty where it is none."""
    return "zip" if begin.startswith(_ZIP) else "tar" if begin[_TAR_MARK] == b"ustar" else ""


def unpacked(stream: io.BufferedReader, name: str) -> io.BufferedReader:
    """Return the content of a stream, plain or packed; `name` is what messages call it.

    Raises DataError where it is an archive of several files; reading raises DataError where it is damaged.
    """
    begin = stream.peek(16)
    packing = packing_of(begin)
    if packing is not None:
        stream = io.BufferedReader(cast(io.RawIOBase, _Unpacked(stream, packing, name)), BUFFER)
        begin = stream.peek(512)
    if kind := archive_of_files(begin):
        raise DataError(f"{name} is a {kind} archive, which may hold several files; unpack it and name those in it")
    return stream


@contextmanager
def opened(path: Path, name: str = "") -> Iterator[tuple[io.BufferedReader, Callable[[], int]]]:
    """Open a file, plain or packed, and tell what is wrong with it in a DataError that calls it `name` (else its path).

    Gives its content, and a function that returns how many bytes of the file itself were read so far.
    """
    name = name or str(path)
    with reading(name), path.open("rb") as plain:
        begin = plain.peek(16)
        named = next((packing for packing in PACKINGS if packing.ending == path.suffix), None)
        if named is not None and begin and packing_of(begin) is None:
            raise DataError(f"{name} is named {named.ending} but is no {named.name} file; rename it or compress it")
        yield unpacked(plain, name), plain.tell

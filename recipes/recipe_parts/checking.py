"""Checks: whether a file is the one that a manifest means, and a memory of files that were found right before."""

import gzip
import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from recipe_parts.manifest import Copy, Text
from recipe_parts.saying import RecipeError

CHUNK = 1 << 20
"""Bytes read at a time."""

_GZIP = b"\x1f\x8b"
_SEGMENT = re.compile(rb"<seg[\s>]", re.IGNORECASE)


class CheckError(RecipeError):
    """A file that is missing, damaged, cut short or another one."""


class Counted(NamedTuple):
    """What a text holds, uncompressed."""

    lines: int
    sha256: str


def count_text(path: Path, name: str = "") -> Counted:
    """Return the lines of a text, plain or packed by gzip, or the segments of an .sgm file; and its SHA-256.

    A last line without a line feed counts. `name` is what tells an .sgm file, where that is not the file's own. Raises
    CheckError where the file cannot be read or is a damaged archive.
    """
    digest, lines, last, segments, tail = hashlib.sha256(), 0, b"\n", 0, b""
    is_sgm = (name or path.name).removesuffix(".gz").endswith(".sgm")
    for block in _unpacked(path):
        digest.update(block)
        lines += block.count(b"\n")
        last = block[-1:]
        if is_sgm:
            joined = tail + block
            segments += len(_SEGMENT.findall(joined))
            tail = joined[-4:]  # shorter than a tag, so none is counted twice
    return Counted(segments if is_sgm else lines + (last != b"\n"), digest.hexdigest())


def _unpacked(path: Path) -> Iterator[bytes]:
    """Yield the content of a file, packed by gzip or not, in blocks, never an empty one."""
    try:
        with gzip.open(path) if is_gzip(path) else path.open("rb") as stream:
            while block := stream.read(CHUNK):
                yield block
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CheckError(f"{path} is no whole gzip file ({error}); delete it and fetch it again") from error
    except OSError as error:
        raise CheckError(f"{path} cannot be read ({error.strerror or error}); check its name and disk") from error


def is_gzip(path: Path) -> bool:
    """Tell by its first bytes whether a file is packed by gzip."""
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


def check_text(path: Path, name: str, expected: Text) -> None:
    """Raise CheckError unless the file holds the text that goes by this name."""
    if not path.is_file():
        raise CheckError(f"{path} is missing; the folder must hold {name}")
    if name.endswith(".gz") and not is_gzip(path):
        raise CheckError(f"{path} is no whole gzip file (it begins otherwise); delete it and fetch it again")
    found = count_text(path, name)
    unit = "segments" if name.endswith(".sgm") else "lines"
    if found.lines != expected.lines:
        raise CheckError(
            f"{path} has {found.lines:,} {unit} where {name} has {expected.lines:,}; it was cut short or is another"
        )
    if expected.sha256 and found.sha256 != expected.sha256:
        raise CheckError(
            f"{path} has the {found.lines:,} {unit} it should have, but not the text of {name}: the SHA-256 of the "
            f"uncompressed text is {found.sha256}, not {expected.sha256}"
        )


def check_copy(path: Path, copy: Copy) -> None:
    """Raise CheckError unless the file has the size and the checksums that were published of this copy."""
    if not path.is_file():
        raise CheckError(f"{path} is missing; it must be {copy.name}")
    actual = path.stat().st_size
    if copy.bytes and actual != copy.bytes:
        raise CheckError(
            f"{path} has {actual:,} bytes where {copy.name} has {copy.bytes:,}; it was cut short or changed"
        )
    for kind, expected in (("sha256", copy.sha256), ("md5", copy.md5)):
        if expected and (found := _digest(path, kind)) != expected:
            raise CheckError(
                f"{path} is damaged or another file: its {kind.upper()} is {found}, that of {copy.name} is {expected}"
            )


def _digest(path: Path, kind: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.new(kind, usedforsecurity=False)).hexdigest()


class Checked:
    """Remembers, in a file, which files were found right, so that gigabytes are read once; a changed file is not."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            content = json.loads(path.read_bytes())
        except (OSError, ValueError):
            content = {}
        self._known: dict[str, list[object]] = content if isinstance(content, dict) else {}

    def copy(self, path: Path, copy: Copy) -> None:
        """Do as `check_copy` does."""
        expected = f"{copy.bytes} {copy.sha256} {copy.md5}"
        if not self._remembers(path, expected):
            check_copy(path, copy)
            self._remember(path, expected)

    def text(self, path: Path, name: str, text: Text) -> None:
        """Do as `check_text` does."""
        expected = f"{name} {text.lines} {text.sha256}"
        if not self._remembers(path, expected):
            check_text(path, name, text)
            self._remember(path, expected)

    def moved(self, path: Path, to: Path) -> None:
        """Take over what is known of a file that was renamed."""
        known = self._known.pop(str(path.resolve()), None)
        if known is not None:
            self._known[str(to.resolve())] = known
            self._write()

    def _remember(self, path: Path, expected: str) -> None:
        self._known[str(path.resolve())] = self._stamp(path, expected)
        self._write()

    def _write(self) -> None:
        write_whole(self._path, json.dumps(self._known, indent=1).encode())

    def _remembers(self, path: Path, expected: str) -> bool:
        try:
            return self._known.get(str(path.resolve())) == self._stamp(path, expected)
        except OSError:
            return False

    @staticmethod
    def _stamp(path: Path, expected: str) -> list[object]:
        return [*stamp_of(path), expected]


def stamp_of(path: Path) -> list[int]:
    """Return what changes with a file: its size, and when it was written."""
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]


class Made:
    """Files made from something, and a note beside the first of them of what it was: made again where that changes."""

    def __init__(self, files: Sequence[Path], origin: Mapping[str, object]) -> None:
        self._files, self._origin = files, dict(origin)
        self._note = files[0].with_name(f".{files[0].name}.made-from")

    @property
    def is_there(self) -> bool:
        """Tell whether all files are there, made from the same."""
        try:
            return bool(json.loads(self._note.read_bytes()) == self._origin) and all(map(Path.is_file, self._files))
        except (OSError, ValueError):
            return False

    def note(self) -> None:
        """Write down what the files, which are whole now, were made from."""
        write_whole(self._note, json.dumps(self._origin).encode())


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under another name first, always the same, so that it is there whole or as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def link(path: Path, target: Path) -> None:
    """Make `path` another name of a file, in place of what has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target.resolve())
    temporary.replace(path)

"""Unpacking: the texts of a manifest out of an archive, each checked before it gets its name, and nothing else."""

import tarfile
import zipfile
import zlib
from collections.abc import Generator, Mapping
from contextlib import closing
from pathlib import Path
from shutil import copyfileobj
from typing import IO

from recipe_parts.checking import CHUNK, Checked, CheckError
from recipe_parts.manifest import Text
from recipe_parts.saying import say


def unpack(archive: Path, wanted: Mapping[str, Text], folder: Path, checked: Checked) -> None:
    """Write the texts that are wanted out of a tar archive, packed or not, or a zip archive, into `folder`.

    Raises CheckError where the archive is damaged or lacks a text, and where a text is not what it should be: then no
    file has its name.
    """
    left = dict(wanted)
    say(f"unpacking {len(left)} of the files in {archive}")
    try:
        with closing(_zip_members(archive) if archive.suffix == ".zip" else _tar_members(archive)) as members:
            for name, stream in members:
                if name in left:
                    _write(stream, name, left.pop(name), folder, checked, archive)
                if not left:
                    return
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise CheckError(f"{archive} is a damaged archive ({error}); delete it and fetch it again") from error
    raise CheckError(f"{archive} does not hold {', '.join(left)}; delete it and fetch it again")


def _tar_members(archive: Path) -> Generator[tuple[str, IO[bytes]], None, None]:
    """Yield the files of a tar archive, read in one go: none is looked for twice in gigabytes."""
    with tarfile.open(archive, "r|*") as tar:
        for member in tar:
            if member.isfile() and (stream := tar.extractfile(member)) is not None:
                yield member.name.removeprefix("./"), stream


def _zip_members(archive: Path) -> Generator[tuple[str, IO[bytes]], None, None]:
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            if not member.is_dir():
                with opened.open(member) as stream:
                    yield member.filename, stream


def _write(stream: IO[bytes], name: str, text: Text, folder: Path, checked: Checked, archive: Path) -> None:
    """Write one text under another name, check it, and only then give it its own."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    try:
        with temporary.open("wb") as file:
            copyfileobj(stream, file, CHUNK)
        try:
            checked.text(temporary, name, text)
        except CheckError as error:
            raise CheckError(
                f"{archive} holds another text than it should: {error}; where the checksum of the archive was right, "
                "look at the manifest"
            ) from error
        temporary.replace(path)
        checked.moved(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)

#!/usr/bin/env python3
"""Find or download the raw Multi30k files of this recipe, check every one, and print the folder they lie in.

Needs only the standard library. A file is judged by its uncompressed text: lines and SHA-256 must be those of
the data repository, however the file was compressed.
"""

import argparse
import gzip
import hashlib
import os
import sys
import urllib.error
import urllib.request
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ADDRESS = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
DATA_VARIABLE = "MULTI30K_DATA"
MIRROR_VARIABLE = "MULTI30K_MIRROR"
DOWNLOADS = Path(__file__).resolve().parent / "data"
TIMEOUT_SECONDS = 60


class Text(NamedTuple):
    """What a file must hold, uncompressed."""

    lines: int
    sha256: str


FILES = {
    "train.en.gz": Text(29_000, "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6"),
    "train.de.gz": Text(29_000, "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72"),
    "val.en.gz": Text(1_014, "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227"),
    "val.de.gz": Text(1_014, "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660"),
    "test_2016_flickr.en.gz": Text(1_000, "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182"),
    "test_2016_flickr.de.gz": Text(1_000, "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16"),
    "test_2017_flickr.en.gz": Text(1_000, "ce1450ddc5ab0834502579d77a170849952e15a2938b34cc503bdc25ebb4fb98"),
    "test_2017_flickr.de.gz": Text(1_000, "c3078bc3b36808bf9d20eb2347ed6137016179ef59ec0d2b9b8ecc3fb2880081"),
    "test_2017_mscoco.en.gz": Text(461, "43051fdfa86fd5395182e718a94ca67b1b227b9f7c79596ff0f6b813216981d2"),
    "test_2017_mscoco.de.gz": Text(461, "58277df3c75f92f7145a11b910b553d1cf82c439249d4dc237c899609eafac22"),
}


class FetchError(Exception):
    """A file that is missing, damaged or another, or an address that does not answer."""


def check(path: Path, name: str, expected: Text) -> None:
    """Raise FetchError unless the file holds, uncompressed, the text that goes by this name."""
    if not path.is_file():
        raise FetchError(f"{path} is missing; the folder must hold {name}")
    try:
        with gzip.open(path) as file:
            content = file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise FetchError(f"{path} is no whole gzip file ({error}); delete it and fetch it again") from error
    lines = content.count(b"\n")
    if lines != expected.lines:
        raise FetchError(
            f"{path} has {lines:,} lines where {name} has {expected.lines:,}; it was cut short or is another file"
        )
    found = hashlib.sha256(content).hexdigest()
    if found != expected.sha256:
        raise FetchError(
            f"{path} has the {lines:,} lines it should have, but not the text of {name}: "
            f"the SHA-256 of the uncompressed text is {found}, not {expected.sha256}"
        )


def download(address: str, path: Path, name: str, expected: Text) -> None:
    """Fetch one file to a temporary name, check it, and only then give it its own name."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with urllib.request.urlopen(f"{address}/{name}", timeout=TIMEOUT_SECONDS) as answer:
            temporary.write_bytes(answer.read())
        check(temporary, name, expected)
        temporary.replace(path)
    except OSError as error:  # urllib's errors are some
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # it holds the connection
        raise FetchError(
            f"{address}/{name} cannot be fetched ({error}); get the files by other means and give their "
            f"folder with --data or {DATA_VARIABLE}, or another address with {MIRROR_VARIABLE}"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def provide(data: Path | None, address: str, downloads: Path, files: Mapping[str, Text] = FILES) -> Path:
    """Return the folder with all files, checked: `data` where given, else `downloads`, filled from `address`.

    Nothing is fetched into a folder given as `data`. A download that is there and right is not fetched again.
    """
    if data is not None:
        if not data.is_dir():
            raise FetchError(f"{data} is no folder; --data and {DATA_VARIABLE} name the folder of the raw .gz files")
        for name, expected in files.items():
            check(data / name, name, expected)
        return data
    downloads.mkdir(parents=True, exist_ok=True)
    for name, expected in files.items():
        try:
            check(downloads / name, name, expected)
        except FetchError:
            sys.stderr.write(f"fetching {address}/{name}\n")
            download(address, downloads / name, name, expected)
    return downloads


def main() -> int:
    """Print the folder, or what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help=f"folder that holds the raw files; or name it in {DATA_VARIABLE}. Without either, the files are "
        f"downloaded into {DOWNLOADS.name}/ beside this script, from {MIRROR_VARIABLE} where that is set.",
    )
    given = parser.parse_args().data
    data = given or (Path(os.environ[DATA_VARIABLE]) if os.environ.get(DATA_VARIABLE) else None)
    address = (os.environ.get(MIRROR_VARIABLE) or ADDRESS).rstrip("/")
    try:
        folder = provide(data, address, DOWNLOADS)
    except FetchError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{folder.resolve()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

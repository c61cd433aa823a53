"""Sampling: every so manieth pair of a parallel text, the same ones each time, into files of their own."""

import gzip
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from recipe_parts.checking import CheckError, Made, is_gzip, stamp_of
from recipe_parts.saying import say


class Pair(NamedTuple):
    """A parallel text: the names of its two files, and its lines."""

    source: str
    target: str
    lines: int


def kept(lines: int, scale: float, least: int) -> int:
    """Return how many pairs of a text stay: the share `scale`, but `least` of them, or all where there are fewer."""
    return min(lines, max(math.ceil(lines * scale), least))


def sample(pair: Pair, count: int, texts: Path, folder: Path) -> None:
    """Write `count` pairs, at even distances, under the same names into `folder`; does nothing where they are there.

    A name that ends in .gz is packed. Raises CheckError where a file has not as many lines as the pair says.
    """
    names = (pair.source, pair.target)
    origin = {"lines": pair.lines, "kept": count, "of": [stamp_of(texts / name) for name in names]}
    made = Made([folder / name for name in names], origin)
    if made.is_there:
        return
    say(f"sampling {count:,} of {pair.lines:,} pairs of {pair.source} and {pair.target}")
    for name in names:
        _write(folder / name, _chosen(texts / name, pair.lines, count))
    made.note()


def _chosen(path: Path, lines: int, count: int) -> Iterator[bytes]:
    """Yield the lines of a file that stay, each with its line feed."""
    number = 0
    with gzip.open(path) if is_gzip(path) else path.open("rb") as stream:
        for line in stream:  # of a binary stream: line feeds alone end them
            # The quotient reaches a new whole number `count` times, at even distances.
            if (number + 1) * count // lines > number * count // lines:
                yield line.removesuffix(b"\n") + b"\n"
            number += 1
    if number != lines:
        raise CheckError(f"{path} has {number:,} lines, not {lines:,}; fetch it again")


def _write(path: Path, lines: Iterable[bytes]) -> None:
    """Write lines under another name first, packed where the name says so: the same bytes for the same lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    try:
        with temporary.open("wb") as file:
            if path.suffix == ".gz":
                with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
                    packed.writelines(lines)
            else:
                file.writelines(lines)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)

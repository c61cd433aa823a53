"""Patterns: from names with `*`, `?`, `[…]` and `**` to files in an order that depends on nothing but their names."""

import glob
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nmtkit.corpus.blocks import TextFile
from nmtkit.errors import DataError

_WILDCARD = re.compile(r"\*\*/|\*+|\?|\[!?[^\]]+\]")


class Found(NamedTuple):
    """A file, and what the wildcards of its pattern stand for in its name; none where it was not found by a pattern."""

    file: TextFile
    wildcards: tuple[str, ...] = ()


def find(start: Path, name: Path, corpus: str) -> list[Found]:
    """Return the files that a name or pattern, seen from the folder `start`, stands for, sorted by their names.

    A file that has the very name is preferred to what the name matches as a pattern. Raises DataError where nothing
    matches a pattern; whether a named file exists is not looked at.
    """
    path = start / name
    if not _WILDCARD.search(str(name)) or _exists(path):
        return [Found(TextFile(path, str(path)))]
    folder = "" if name.is_absolute() else str(start / "x").removesuffix("x")
    matches = sorted(glob.glob(glob.escape(folder) + str(name), recursive=True))  # noqa: PTH207  its name is absolute
    regex = re.compile(re.escape(folder) + _regex(str(name)), re.DOTALL)
    files = [Path(match) for match in matches if not Path(match).is_dir()]
    if not files:
        raise DataError(
            f"corpus {corpus!r}: no file matches {path}; check the pattern, and that corpus.folder is right"
        )
    return [Found(TextFile(file, str(file)), _wildcards(regex, file)) for file in files]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _wildcards(regex: re.Pattern[str], file: Path) -> tuple[str, ...]:
    match = regex.fullmatch(str(file))
    return match.groups() if match else ()


def _regex(pattern: str) -> str:
    """Return a pattern as a regular expression with a group for each wildcard."""
    parts, end = [], 0
    for wildcard in _WILDCARD.finditer(pattern):
        text = wildcard[0]
        parts += [re.escape(pattern[end : wildcard.start()]), "(", _meaning(text), ")"]
        end = wildcard.end()
    return "".join([*parts, re.escape(pattern[end:])])


def _meaning(wildcard: str) -> str:
    if wildcard == "**/":
        return "(?:.*/)?"
    if wildcard[0] == "*":
        return "[^/]*"
    if wildcard == "?":
        return "[^/]"
    characters = re.escape(wildcard[1:-1].removeprefix("!")).replace(r"\-", "-")
    return f"[{'^' * wildcard.startswith('[!')}{characters}]"


def pair_up(corpus: str, sources: Sequence[Found], targets: Sequence[Found]) -> list[tuple[TextFile, TextFile]]:
    """Return the files of both sides two by two.

    Where all were found by patterns with as many wildcards, those go together in which these stand for the same; else
    they do in their order. Raises DataError where one has no counterpart.
    """
    mine, yours = _by_wildcards(sources), _by_wildcards(targets)
    if mine is None or yours is None or len({len(wildcards) for wildcards in [*mine, *yours]}) > 1:
        if len(sources) != len(targets):
            raise DataError(
                f"corpus {corpus!r}: {_listed(sources, 'source')} but {_listed(targets, 'target')}; they must pair up "
                "one by one"
            )
        return [(source.file, target.file) for source, target in zip(sources, targets, strict=True)]
    for these, others in ((mine, yours), (yours, mine)):
        for wildcards, file in these.items():
            if wildcards not in others:
                raise DataError(
                    f"corpus {corpus!r}: {file.name} has no counterpart on the other side; add it, or list the files "
                    "of both sides in their order"
                )
    return [(file, yours[wildcards]) for wildcards, file in mine.items()]


def _by_wildcards(found: Sequence[Found]) -> dict[tuple[str, ...], TextFile] | None:
    """Return files by what their wildcards stand for; None where that does not tell them apart."""
    files = {each.wildcards: each.file for each in found if each.wildcards}
    return files if len(files) == len(found) else None


def _listed(found: Sequence[Found], side: str) -> str:
    names = [each.file.path.name for each in found]
    ends = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    return f"{len(names)} {side} file{'s' * (len(names) > 1)} ({ends})"

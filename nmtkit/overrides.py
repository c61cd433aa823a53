"""`--set KEY=VALUE`: settings given on the command line, laid over those of a file, and where a value came from."""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from nmtkit.errors import ConfigError
from nmtkit.toml import DEEPEST, Path, dotted, inline, parse_value, shorten

_PART = r"[A-Za-z0-9_-]+(?:\[[0-9]{1,9}\])*"
_KEY = re.compile(rf"{_PART}(?:\.{_PART})*")


class Override(NamedTuple):
    """One `--set`: the text as given, the path of its key and its value."""

    text: str
    path: Path
    value: Any

    @property
    def place(self) -> str:
        """How messages name it."""
        return f"--set {shorten(self.text)}"


def parse(text: str) -> Override:
    """Read KEY=VALUE: a dotted key and a TOML value, or else plain text. Raises ConfigError."""
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not _KEY.fullmatch(key):
        raise ConfigError(f"--set {shorten(text)}: not of the form KEY=VALUE; write for example --set train.seed=3")
    path = path_of(key)
    if len(path) > DEEPEST:
        raise ConfigError(f"--set {shorten(text)}: a key of {len(path):,} parts; no key has more than a few")
    return Override(text, path, parse_value(value))


def path_of(key: str) -> Path:
    """Return the path that a dotted key writes: corpus.test[1].source."""
    parts = re.findall(r"(\[?)([A-Za-z0-9_-]+)", key)
    return tuple(int(part) if bracket else part for bracket, part in parts)


class Layers:
    """The tables of a file with the overrides laid over them, the later over the earlier.

    `merged` is the result; `overrides` are those that were laid; `problems` holds a line for each that could not be
    read or laid.
    """

    def __init__(self, tables: dict[str, Any], source: str, texts: Sequence[str]) -> None:
        self.source = source
        self.merged = deepcopy(tables)
        self.problems: list[str] = []
        self._tables = tables
        self.overrides: list[Override] = []
        for text in texts:
            try:
                override = parse(text)
                self._lay(override)
                self.overrides.append(override)
            except ConfigError as error:
                self.problems += error.problems

    def _lay(self, override: Override) -> None:
        place: Any = self.merged
        for depth, part in enumerate(override.path):
            in_list = isinstance(place, list) and isinstance(part, int) and part < len(place)
            in_table = isinstance(place, dict) and isinstance(part, str)
            if not (in_list or in_table):
                raise ConfigError(f"{override.place}: {_no_way(override.path[:depth], part, place)}")
            if depth == len(override.path) - 1:
                place[part] = override.value
            elif isinstance(part, int) or part in place:
                place = place[part]
            elif isinstance(override.path[depth + 1], int):
                missing = dotted(override.path[: depth + 1])
                raise ConfigError(f"{override.place}: there is no list {missing} yet; set {missing} as a whole")
            else:
                place = place.setdefault(part, {})

    def origin(self, path: Path) -> Override | None:
        """Return the override that gave the value at a path; None where the file or a default did."""
        return next((override for override in reversed(self.overrides) if self._gave(override, path)), None)

    def _gave(self, override: Override, path: Path) -> bool:
        within = path[: len(override.path)] == override.path
        began_it = override.path[: len(path)] == path and find(self._tables, path) is None
        return within or began_it

    def line(self, path: Path, value: str, message: str) -> str:
        """Return `FILE: key = value: message`, or with the override in place of the file."""
        override = self.origin(path)
        if override is not None and override.path == path:
            return f"{override.place}: {message}"
        place = self.source if override is None else override.place
        return f"{place}: {dotted(path)}{f' = {value}' if value else ''}: {message}"


def find(value: Any, path: Path) -> Any:
    """Return what tables and lists hold at a path; None where they hold nothing."""
    for part in path:
        if isinstance(part, int):
            value = value[part] if isinstance(value, (list, tuple)) and part < len(value) else None
        else:
            value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _no_way(path: Path, part: str | int, value: Any) -> str:
    if isinstance(part, int) and isinstance(value, list):
        return f"{dotted(path)} has {len(value)} elements, so there is no [{part}]; counting begins at 0"
    wanted = "a list" if isinstance(part, int) else "a table"
    return f"{dotted(path)} = {shorten(inline(value))} is not {wanted}; set {dotted(path)} as a whole"

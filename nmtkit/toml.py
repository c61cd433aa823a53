"""TOML in and out: a file or a value read with clear errors, and a value written on one line."""

import json
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path as File
from typing import Any

from nmtkit.errors import ConfigError

Path = tuple[str | int, ...]
"""Keys and list positions from the root: ("corpus", "test", 1, "source")."""

DEEPEST = 20
"""Levels of tables and lists that are read: more than any key has, fewer than Python can recurse into."""

_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_TWICE = ("Cannot overwrite", "Cannot declare", "Cannot redefine", "Cannot mutate", "Duplicate", "Expanding")


def read(path: File) -> dict[str, Any]:
    """Return the tables of a file. Raises ConfigError with file, line and remedy."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        remedy = "write one with `nmtkit init` or name yours with --config"
        raise ConfigError(f"{path}: no such file; {remedy}") from None
    except IsADirectoryError:
        raise ConfigError(f"{path}: a folder, not a file; name the TOML file in it") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); check the path and permissions") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        wrong = f"byte 0x{data[error.start]:02x} is not UTF-8"
        raise ConfigError(f"{path}, line {line}: {wrong}; save the file as UTF-8") from None
    try:
        tables = tomllib.loads(text)
        deep = is_deep(tables)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}{_explain(str(error), text)}") from None
    except RecursionError:
        deep = True
    except ValueError:  # Python converts no more than 4,300 digits
        raise ConfigError(f"{path}: a number with thousands of digits; no key needs more than 64 bits") from None
    if deep:
        raise ConfigError(f"{path}: lists or tables nested too deeply; no key needs more than three levels")
    return tables


def is_deep(value: Any) -> bool:
    """Tell whether tables and lists are nested more than DEEPEST levels deep."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [inner for outer in level for inner in _inside(outer)]
    return bool(level)


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _explain(message: str, text: str) -> str:
    """Return ", line n: what; remedy" from what tomllib says."""
    place = _PLACE.search(message)
    what = " ".join(_PLACE.sub("", message).split())
    line_number = place[1] if place else None
    number = int(line_number) if line_number else text.rstrip().count("\n") + 1
    lines = text.split("\n")
    line = shorten(lines[number - 1].strip(" \t\r")) if number <= len(lines) else ""
    shown = f" in `{line}`" if line else ""
    if what.startswith(_TWICE):
        return f", line {number}: key or table given twice{shown}; keep one of them"
    remedy = "write KEY = VALUE or [TABLE], text in quotes, true and false in small letters"
    return f", line {number}: not valid TOML{shown} ({what[:1].lower()}{what[1:]}); {remedy}"


def parse_value(text: str) -> Any:
    """Return the value written in TOML; where it is not TOML, or nested too deeply, the text itself."""
    try:
        table = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return table["value"] if len(table) == 1 and not is_deep(table) else text


def inline(value: Any) -> str:
    """Return a value as TOML on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON escapes are TOML escapes; DEL is the one control character that JSON leaves as it is.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(inline(element) for element in value)}]"
    if isinstance(value, dict):
        inside = ", ".join(f"{_key(key)} = {inline(element)}" for key, element in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    # Python writes no more than 4,300 digits, but any number of hexadecimal ones.
    return hex(value) if isinstance(value, int) and abs(value) >= 2**64 else str(value)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else inline(name)


def is_text(value: str) -> bool:
    """Tell whether a string can be written as UTF-8: command line and file system may give others."""
    return not re.search("[\ud800-\udfff]", value)


def dotted(path: Path) -> str:
    """Return a path as it is written: corpus.test[1].source; odd keys are shown as `shorten` shows text."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{shorten(_key(part))}" for part in path]
    return "".join(parts).removeprefix(".")


def shorten(text: str, limit: int = 60) -> str:
    """Return text cut to about `limit` characters, an ellipsis for the rest; line separators are shown escaped."""
    visible = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return visible if len(visible) <= limit else f"{visible[: limit - 1]}…"

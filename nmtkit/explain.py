"""Mistakes in settings, said in the words of the config file: what is wrong and what to give instead."""

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Any, NamedTuple

from pydantic import ValidationError

from nmtkit.schema import Spot, everywhere, kind_of, locate, options, quoted, with_article
from nmtkit.section import Section
from nmtkit.toml import Path, dotted, inline, is_text, parse_value, shorten

_MOST_PLACES = 3
"""How many other places of a misplaced key are named."""


class Problem(NamedTuple):
    """A mistake: the path of its key, the value there if it is worth showing, what is wrong and the remedy."""

    path: Path
    value: str
    message: str


def explain(error: ValidationError, root: type[Section]) -> list[Problem]:
    """Return every mistake that Pydantic saw, in the order of the sections."""
    details = error.errors(include_url=False)
    return [
        _problem(str(detail["type"]), locate(root, detail["loc"]), detail["input"], detail["msg"], root)
        for detail in details
    ]


def unfit(value: Any, path: Path = ()) -> Iterator[Problem]:
    """Yield the values that TOML allows, or its reader lets through, but nothing can work with."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from unfit(inner, (*path, name))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from unfit(inner, (*path, place))
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        yield Problem(path, shorten(inline(value)), "does not fit in 64 bits; give a smaller number")
    elif isinstance(value, str) and "\0" in value:
        yield Problem(path, shorten(inline(value)), "holds a NUL character; remove it")
    elif isinstance(value, str) and not is_text(value):
        yield Problem(path, shorten(inline(value)), "holds bytes that are not UTF-8; write it, or name the file, anew")


def _problem(type_: str, spot: Spot, value: Any, pydantic_words: str, root: type[Section]) -> Problem:
    if type_ == "extra_forbidden":
        shown = "" if isinstance(value, dict) else shorten(inline(value))
        return Problem(spot.path, shown, _unknown(spot, root))
    if type_ == "missing":
        return Problem(spot.path, "", _missing(spot))
    if type_ == "union_tag_not_found":
        return Problem((*spot.path, "kind"), "", f"missing; choose {quoted(_kinds(spot))}")
    if type_ == "union_tag_invalid":
        return Problem((*spot.path, "kind"), shorten(inline(value["kind"])), _unknown_kind(spot, value["kind"]))
    explain_value = _VALUES.get(type_, _wrong_type if type_.endswith("_type") else None)
    message = explain_value(spot, value) if explain_value else pydantic_words.removeprefix("Value error, ")
    return Problem(spot.path, shorten(inline(value)), message)


def _unknown(spot: Spot, root: type[Section]) -> str:
    """Name the nearest key, or all keys; and where else the same key stands."""
    *table, name = spot.path
    keys = list(options(spot.owner))
    where = dotted(tuple(table))
    within = f" in {_header(spot)}" if table else ""
    siblings = [kind_of(kind) for kind in spot.kinds if kind is not spot.owner and name in options(kind)]
    if siblings:
        own = kind_of(spot.owner)
        remedy = f"change kind, remove it, or set {where} as a whole"
        return f"no such key for kind {inline(own)}, only for {quoted(siblings)}; {remedy}"
    here = f"{where}." if where else ""
    elsewhere = [f"{there}.{name}" if there else str(name) for there, key in everywhere(root) if key == name]
    elsewhere = list(dict.fromkeys(place for place in elsewhere if place != f"{here}{name}"))[:_MOST_PLACES]
    nearest = get_close_matches(str(name), keys, n=1)
    if nearest:
        remedy = f"did you mean {here}{nearest[0]}?"
        return f"no such key{within}; {remedy}" + (f" Or {' or '.join(elsewhere)}?" if elsewhere else "")
    if elsewhere:
        return f"no such key{within}; did you mean {' or '.join(elsewhere)}?"
    return f"no such key{within}; the keys are {', '.join(keys)}"


def _header(spot: Spot) -> str:
    """Return the header of the table that holds a key: [train.stop] or [[corpus.test]]."""
    table = spot.path[:-1]
    names = dotted(tuple(part for part in table if isinstance(part, str)))
    return f"[[{names}]]" if isinstance(table[-1], int) else f"[{names}]"


def _missing(spot: Spot) -> str:
    option = spot.known
    if option.type == "table":
        needed = [name for section in option.sections for name, key in options(section).items() if key.required]
        return f"missing; add a table [{dotted(spot.path)}] with {' and '.join(needed)}"
    return f"missing; add it to {_header(spot)}, {option.expected}"


def _unknown_kind(spot: Spot, value: Any) -> str:
    return _not_among(value, _kinds(spot), "no such kind")


def _wrong_choice(spot: Spot, value: Any) -> str:
    wrong = "no such kind" if spot.path[-1] == "kind" else "not one of the choices"
    return _not_among(value, spot.known.choices, wrong)


def _kinds(spot: Spot) -> tuple[str, ...]:
    return tuple(kind_of(section) for section in spot.known.sections)


def _not_among(value: Any, choices: tuple[str | bool, ...], wrong: str) -> str:
    nearest = get_close_matches(str(value), [choice for choice in choices if isinstance(choice, str)], n=1)
    hint = f"did you mean {inline(nearest[0])}? Or " if nearest and len(choices) > 1 else ""
    others = tuple(choice for choice in choices if not hint or choice != nearest[0])
    return f"{wrong}; {hint or 'choose '}{quoted(others)}"


def _out_of_range(spot: Spot, value: Any) -> str:
    empty = isinstance(value, (str, list, tuple)) and not value
    return f"{'empty' if empty else 'out of range'}; give {spot.known.expected}"


def _not_finite(spot: Spot, value: Any) -> str:  # noqa: ARG001  all explanations have one signature
    return f"not a finite number; give {spot.known.expected}"


def _wrong_type(spot: Spot, value: Any) -> str:
    type_ = "table" if spot.element else spot.known.type
    expected = "a table" if spot.element else spot.known.expected
    return f"not {with_article(type_)}{_notation(spot, type_, expected, value) or f'; give {expected}'}"


def _notation(spot: Spot, type_: str, expected: str, value: Any) -> str:
    """Return how to write it where the value looks like a slip of notation, else nothing."""
    key, scalar = dotted(spot.path), not isinstance(value, (dict, list))
    slips = {
        f"; begin it with [[{key}]], in double brackets": type_ == "list" and isinstance(value, dict),
        f" but a list; begin it with [{key}], in single brackets": type_ == "table" and isinstance(value, list),
        f"; put it in quotes: {spot.path[-1]} = {inline(inline(value))}": type_ == "string" and scalar,
        f" but a string; give {expected}, without quotes": isinstance(value, str) and _without_quotes(value, type_),
        " but text that is not valid TOML; check its brackets and quotes (a shell needs quotes around it all)": (
            isinstance(value, str) and value[:1] in ("[", "{")
        ),
        f"; begin it with [{key}]": type_ == "table" and not spot.element,
    }
    if type_ == "integer" and isinstance(value, float) and value.is_integer():
        return f"; give {expected}, without point or exponent: {spot.path[-1]} = {int(value)}"
    return next((words for words, fits in slips.items() if fits), "")


def _without_quotes(text: str, type_: str) -> bool:
    """Return whether the text of a string is a value of the type that is wanted."""
    value = parse_value(text.lower())
    if type_ == "true or false":
        return isinstance(value, bool)
    return type_ in ("integer", "number") and isinstance(value, (int, float))


_VALUES: dict[str, Callable[[Spot, Any], str]] = {
    "literal_error": _wrong_choice,
    "greater_than": _out_of_range,
    "greater_than_equal": _out_of_range,
    "less_than": _out_of_range,
    "less_than_equal": _out_of_range,
    "too_short": _out_of_range,
    "string_too_short": _out_of_range,
    "finite_number": _not_finite,
}

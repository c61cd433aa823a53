"""What a section says about itself: its keys, and for each its type, range and default in the words of TOML."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from nmtkit.section import Section
from nmtkit.toml import Path, inline

Sections = tuple[type[Section], ...]

_SCALARS = {bool: "true or false", int: "integer", float: "number", str: "string"}


@dataclass(frozen=True)
class Option:
    """A key of a section.

    `type` is integer, number, string, true or false, table, list, or "string or list". `sections` are the tables that
    may stand there (several where `kind` chooses), `limits` the range in words ("at least 1").
    """

    name: str
    description: str
    type: str
    required: bool
    default: Any
    limits: str = ""
    choices: tuple[str | bool, ...] = ()
    sections: Sections = ()

    @property
    def expected(self) -> str:
        """What to give, with its article: "an integer of at least 1"."""
        if self.choices:
            return quoted(self.choices)
        words = with_article(self.type)
        if self.type == "list" and self.sections:
            words = "a list of tables"
        if not self.limits:
            return words
        if self.type == "string":
            return f"{words} that is {self.limits}"
        return f"{words} of {self.limits}" if self.limits.startswith("at") else f"{words} {self.limits}"


class Spot(NamedTuple):
    """A place in the tree.

    `option` is None at the root and at an unknown key. `owner` is the section in which the last key was looked up,
    `kinds` all sections that may stand in its place. `element` is true at an element of a list.
    """

    path: Path
    option: Option | None
    kinds: Sections
    owner: type[Section]
    element: bool

    @property
    def known(self) -> Option:
        """The option, where there is no doubt that there is one."""
        assert self.option is not None, f"no option at {self.path}"
        return self.option


def alternatives(choices: Sequence[str]) -> str:
    """Return "a, b or c"."""
    return " or ".join(([", ".join(choices[:-1])] if choices[1:] else []) + list(choices[-1:]))


def quoted(choices: Sequence[str | bool]) -> str:
    """Return what can be chosen, as it is written: "a", "b" or true."""
    return alternatives([inline(choice) for choice in choices])


def with_article(type_: str) -> str:
    """Return "an integer", "a table", but "true or false"."""
    article = {"integer": "an ", "true or false": ""}.get(type_, "a ")
    return article + type_


def kind_of(section: type[Section]) -> str:
    """Return the name by which `kind` chooses a section; empty where it has none."""
    field = section.model_fields.get("kind")
    return str(field.default) if field is not None else ""


@cache
def options(section: type[Section]) -> dict[str, Option]:
    """Return the keys of a section, `kind` first, then in the order of the class."""
    found = {name: _option(name, field) for name, field in section.model_fields.items()}
    return {name: found[name] for name in sorted(found, key=lambda name: name != "kind")}


def _option(name: str, field: FieldInfo) -> Option:
    type_, choices, sections = _shape(field.annotation)
    return Option(
        name=name,
        description=field.description or "",
        type=type_,
        required=field.is_required(),
        default=None if field.is_required() else field.get_default(call_default_factory=True),
        limits=_limits(field.metadata, type_),
        choices=choices,
        sections=sections,
    )


def _shape(annotation: Any) -> tuple[str, tuple[str | bool, ...], Sections]:
    """Return the type in words, the choices where there are some, and the sections of a table or list."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _shape(arguments[0])
    if origin in (Union, UnionType):
        members = [member for member in arguments if member is not NoneType]
        shapes = [_shape(member) for member in members]
        types = dict.fromkeys(shape[0] for shape in shapes)
        return " or ".join(types), shapes[0][1], tuple(section for shape in shapes for section in shape[2])
    if origin is Literal:
        return "string", tuple(arguments), ()
    if origin is tuple:
        return "list", (), _shape(arguments[0])[2] if arguments else ()
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return "table", (), (annotation,)
    return _SCALARS[annotation], (), ()


_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


def _limits(metadata: list[Any], type_: str) -> str:
    words = []
    for limit in metadata:
        for name, bound in _BOUNDS.items():
            if (value := getattr(limit, name, None)) is not None:
                words.append(f"{bound} {value}")
        if getattr(limit, "min_length", None):
            words.append("not empty" if type_ == "string" else f"at least {limit.min_length} element")
    return " and ".join(words)


def locate(root: type[Section], location: Path) -> Spot:
    """Follow a location as pydantic gives it, in which the kind chosen stands behind the key, to its spot."""
    spot = Spot((), None, (root,), root, element=False)
    inside: Sections = (root,)
    kinds = inside
    for part in location:
        chosen = [section for section in inside if kind_of(section) == part]
        if len(inside) > 1 and chosen:
            inside = (chosen[0],)
        elif isinstance(part, int):
            spot = spot._replace(path=(*spot.path, part), element=True)
        else:
            option = options(inside[0]).get(part)
            spot = Spot((*spot.path, part), option, kinds, inside[0], element=False)
            inside = kinds = option.sections if option is not None else ()
    return spot


def everywhere(section: type[Section], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield (table, key) of all keys of the tree; elements of a list are written table[]."""
    for name, option in options(section).items():
        yield prefix, name
        path = f"{prefix}.{name}" if prefix else name
        for inner in option.sections:
            yield from everywhere(inner, f"{path}[]" if option.type == "list" else path)

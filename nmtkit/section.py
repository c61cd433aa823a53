"""Section: the frozen, strict base of all settings, and the conflicts a section can report about itself.

A section stands beside the component it sets and builds it. Settings modules import no torch: `build`
imports the torch module beside them. A field's description is its entry in `docs/options.md`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict, model_validator


class Conflict(NamedTuple):
    """Settings, each valid alone, that cannot go together.

    `key` is relative to the section that reports it ("dropout", "stop.updates"); `message` says what does
    not fit and what to do.
    """

    key: str
    message: str


class Section(BaseModel):
    """A table of the configuration: unknown keys and wrong types are errors, and nothing changes once read."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """The values that each choice of the key `preset` fills in, where a section has such a key."""

    def conflicts(self) -> Iterator[Conflict]:
        """Yield what does not fit together within this section (its own keys and those of its children)."""
        yield from ()

    @model_validator(mode="before")
    @classmethod
    def _default_kinds(cls, values: Any) -> Any:
        """Let a table that names no kind be of its default's kind, so that one key of it can be set alone."""
        if not isinstance(values, dict):
            return values
        filled = {}
        for name, field in cls.model_fields.items():
            kind = getattr(field.get_default(call_default_factory=True), "kind", None)
            table = values.get(name)
            if kind is not None and isinstance(table, dict) and "kind" not in table:
                filled[name] = {"kind": kind, **table}
        return {**values, **filled}


def all_conflicts(section: Section) -> Iterator[Conflict]:
    """Yield the conflicts of a section and of all below it, the keys seen from this section."""
    yield from section.conflicts()
    for path, child in _children(section):
        for conflict in all_conflicts(child):
            yield Conflict(f"{path}.{conflict.key}", conflict.message)


def _children(section: Section) -> Iterator[tuple[str, Section]]:
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, Section):
            yield name, value
        elif isinstance(value, tuple):
            for place, element in enumerate(value):
                if isinstance(element, Section):
                    yield f"{name}[{place}]", element

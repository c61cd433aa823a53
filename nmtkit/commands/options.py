"""`nmtkit options`: the reference of all settings in Markdown, generated from the sections themselves."""

from collections.abc import Iterator
from inspect import cleandoc

from nmtkit.config import Config
from nmtkit.schema import Option, alternatives, kind_of
from nmtkit.schema import options as keys_of
from nmtkit.section import Section
from nmtkit.toml import inline

_INTRODUCTION = """\
# Options

All settings stand in one file, `nmtkit.toml`, in the tables below. A key that is left out has its default. A key that
does not exist, a value of the wrong type or out of range, and settings that cannot go together are errors.

- `--set KEY=VALUE` on the command line wins over the file: `nmtkit train --set train.seed=3`. The key is written as
  below, with its table; the value as in the file, where quotes around plain text may be left out.
- A table of several kinds has the keys of the kind that its key `kind` names;
  without `kind`, those of the default kind.
- Relative paths start at the folder of the config file.
- `train` writes all settings, defaults included, into `config.toml` in the run folder.

This page is the output of `nmtkit options`."""

_HEAD = ("| Key | Type | Default | Meaning |", "|---|---|---|---|")


def options() -> str:
    """Return the whole reference as Markdown."""
    tables = keys_of(Config)
    homes = _homes(tables)
    blocks = [_INTRODUCTION, "\n".join(["## Tables", "", *_contents(tables)])]
    for name, option in tables.items():
        blocks += _table(name, option, 2, homes)
    return "\n\n".join(blocks) + "\n"


def _homes(tables: dict[str, Option], prefix: str = "") -> dict[type[Section], str]:
    """Return for each section the table in which it is told: of those that it may stand in, the first outermost one."""
    homes: dict[type[Section], str] = {}
    for name, option in tables.items():
        path = prefix + name
        for section in option.sections:
            for found, there in ((section, path), *_homes(keys_of(section), f"{path}.").items()):
                if found not in homes or there.count(".") < homes[found].count("."):
                    homes[found] = there
    return homes


def _contents(tables: dict[str, Option], prefix: str = "") -> Iterator[str]:
    for name, option in tables.items():
        path = prefix + name
        indent = "  " * prefix.count(".")
        yield f"{indent}- [{path}](#{_anchor(path)}): {option.description}"
        for section in option.sections:
            inner = {key: child for key, child in keys_of(section).items() if child.sections}
            yield from _contents(inner, f"{path}.")


def _table(path: str, option: Option, level: int, homes: dict[type[Section], str]) -> Iterator[str]:
    """Yield the blocks of a table (or a list of tables): what it is, the keys of each kind, the tables in it.

    `homes` are the tables in which sections are described; elsewhere they are referred to.
    """
    brackets = f"`[[{path}]]`" if option.type == "list" else f"`[{path}]`"
    yield f"{'#' * level} {path}"
    yield f"{brackets} {option.description} {_presence(option)}".rstrip()
    shown: list[str] = []
    for home in dict.fromkeys(homes[section] for section in option.sections if homes[section] != path):
        yield f"Its keys are those of {_link(home)}."
    for section in [section for section in option.sections if homes[section] == path]:
        if kind := kind_of(section):
            yield f"**`kind = {inline(kind)}`**: {cleandoc(section.__doc__ or '')}"
        keys = [key for name, key in keys_of(section).items() if name != "kind"]
        if relative := _told_before(section, homes):
            yield _difference(section, relative, homes[relative])
            keys = [key for key in keys if key.name not in keys_of(relative)]
        rows = [_row(key, section) for key in keys if not key.sections]
        if rows:
            yield "The same keys." if rows == shown else "\n".join([*_HEAD, *rows])
        shown = rows
        if section.presets:
            yield _presets(section)
        for key in keys:
            if key.sections:
                yield from _table(f"{path}.{key.name}", key, level + 1, homes)


def _told_before(section: type[Section], homes: dict[type[Section], str]) -> type[Section] | None:
    """Return the first section that shares its keys with this one; None where there is none, and where kinds tell."""
    bases = {base for base in section.__mro__ if issubclass(base, Section)} - {Section}
    for other in homes:
        if other is section or kind_of(section):
            return None
        if bases & set(other.__mro__):
            return other
    return None


def _difference(section: type[Section], relative: type[Section], home: str) -> str:
    """Return how the keys of a section differ from those of one that was told before."""
    missing = [f"`{name}`" for name in keys_of(relative) if name not in keys_of(section)]
    but = f", but for {' and '.join(filter(None, [', '.join(missing[:-1]), *missing[-1:]]))}" if missing else ""
    more = len(keys_of(section)) > len(keys_of(relative)) - len(missing)
    return f"Its keys are those of {_link(home)}{but}{'; and:' if more else '.'}"


def _link(path: str) -> str:
    return f"[{path}](#{_anchor(path)})"


def _anchor(path: str) -> str:
    return path.replace(".", "")


def _presence(option: Option) -> str:
    """Return what stands there where the config file has nothing."""
    if option.required:
        return "Required."
    if option.type == "list":
        kinds = [f"`{kind_of(type(element))}`" for element in option.default or ()]
        return f"Default: {', '.join(kinds)}." if kinds else "Default: none."
    if option.default is None:
        return "Default: none."
    return f"Default: `kind = {inline(option.default.kind)}`." if len(option.sections) > 1 else ""


def _row(key: Option, section: type[Section]) -> str:
    by_preset = any(key.name in preset for preset in section.presets.values())
    type_ = alternatives([f"`{inline(choice)}`" for choice in key.choices]) or key.type
    limits = f", {key.limits}" if key.limits else ""
    given = "none" if key.default is None else f"`{inline(key.default)}`"
    default = "required" if key.required else "by preset" if by_preset else given
    cells = [f"`{key.name}`", type_ + limits, default, key.description]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _presets(section: type[Section]) -> str:
    """Return the table of what each preset fills in."""
    names = list(section.presets)
    keys = list(dict.fromkeys(key for preset in section.presets.values() for key in preset))
    lines = [
        f"| `preset` | {' | '.join(f'`{inline(name)}`' for name in names)} |",
        f"|---|{'---|' * len(names)}",
    ]
    for key in keys:
        values = [inline(preset[key]) if key in preset else "" for preset in section.presets.values()]
        lines.append(f"| `{key}` | {' | '.join(values)} |")
    return "\n".join(lines)

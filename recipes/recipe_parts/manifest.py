"""Manifests: which files a recipe needs, where they lie, and by what each is known to be right.

A manifest is JSON:

    {
      "variables": {"data": "WMT14_DATA", "mirror": "WMT14_MIRROR"},
      "mirrors": {"statmt": ["https://www.statmt.org", "https://statmt.org"]},
      "items": [
        {
          "copies": [
            {"path": "wmt13/a.tgz", "mirrors": "statmt", "bytes": 657632379, "sha256": "0224…", "source": "…"}
          ],
          "texts": {"training/a.de-en.en": {"lines": 1920209}, "training/a.de-en.de": {"lines": 1920209}}
        }
      ]
    }

An item is there in one or more copies, archives that hold the same texts; any one will do, and they are tried in their
order, each at its mirrors in theirs. A copy is a tar archive, packed or not, or a zip archive; or, under the name of
the only text of its item, that text itself, which may be packed by gzip. Where `bytes`, `sha256` or `md5` of a copy
were published, it is checked by them; a text is checked by its lines (of an .sgm file: segments) and, where given, by
the SHA-256 of what it holds uncompressed. `source` says where figures come from, for people.
"""

import json
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from recipe_parts.saying import RecipeError


class Text(NamedTuple):
    """What a file of text holds, uncompressed: lines, or segments of an .sgm file; an empty sha256 is not checked."""

    lines: int
    sha256: str = ""


class Copy(NamedTuple):
    """A file that can be fetched: its path as seen from each mirror. What is 0 or empty was not published."""

    path: str
    mirrors: tuple[str, ...] = ()
    bytes: int = 0
    sha256: str = ""
    md5: str = ""
    about_bytes: int = 0
    """A size that nobody published, to reckon with only."""

    @property
    def name(self) -> str:
        """The name of the file itself."""
        return PurePosixPath(self.path).name

    @property
    def expected_bytes(self) -> int:
        """How large it is, published or not; 0 where nobody knows."""
        return self.bytes or self.about_bytes


class Item(NamedTuple):
    """Texts that come together, and the copies they come in."""

    copies: tuple[Copy, ...]
    texts: Mapping[str, Text]

    def is_text(self, copy: Copy) -> bool:
        """Tell whether a copy is the text itself rather than an archive."""
        return list(self.texts) == [copy.name]


class Manifest(NamedTuple):
    """What a recipe needs."""

    items: tuple[Item, ...]
    data_variable: str = ""
    """The variable of the environment that names a folder of given files; empty: none."""
    mirror_variable: str = ""
    """The variable that names mirrors to use instead, with spaces between."""
    unpacked_bytes: int = 0
    """About how large all texts are."""
    path: Path = Path("manifest")

    @property
    def texts(self) -> dict[str, Text]:
        """All texts by their names."""
        return {name: text for item in self.items for name, text in item.texts.items()}


def read_manifest(path: Path) -> Manifest:
    """Read a manifest. Raises RecipeError, naming the place in it, where something is missing or of the wrong kind."""
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise RecipeError(f"{path} cannot be read ({error.strerror}); give the manifest with --manifest", 2) from error
    except ValueError as error:
        raise RecipeError(f"{path} is no JSON ({error}); repair it", 2) from error
    reader = _Reader(path)
    items = tuple(
        _item(reader, each, f"items[{place}]", content.get("mirrors", {}))
        for place, each in enumerate(reader.get(content, "items", list, ""))
    )
    variables = reader.get(content, "variables", dict, "", {})
    found = Manifest(
        items,
        variables.get("data", ""),
        variables.get("mirror", ""),
        reader.get(content, "unpacked_bytes", int, "", 0),
        path,
    )
    if len(found.texts) < sum(len(item.texts) for item in items):
        raise RecipeError(f"{path}: a text is named twice; let each stand in one item", 2)
    return found


def _item(reader: "_Reader", content: Any, where: str, mirrors: Any) -> Item:
    texts = {
        name: Text(
            reader.get(each, "lines", int, f"{where}.texts.{name}"),
            reader.get(each, "sha256", str, f"{where}.texts.{name}", ""),
        )
        for name, each in reader.get(content, "texts", dict, where).items()
    }
    for name in texts:
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise reader.wrong(f"{where}.texts", f"{name} leads out of the folder")
    copies = tuple(
        _copy(reader, each, f"{where}.copies[{place}]", mirrors)
        for place, each in enumerate(reader.get(content, "copies", list, where))
    )
    if not texts or not copies:
        raise reader.wrong(where, "an item has one copy and one text at least")
    return Item(copies, texts)


def _copy(reader: "_Reader", content: Any, where: str, mirrors: Any) -> Copy:
    name = reader.get(content, "mirrors", str, where)
    addresses = reader.get(mirrors, name, list, "mirrors")
    return Copy(
        reader.get(content, "path", str, where),
        tuple(str(address).rstrip("/") for address in addresses),
        reader.get(content, "bytes", int, where, 0),
        reader.get(content, "sha256", str, where, ""),
        reader.get(content, "md5", str, where, ""),
        reader.get(content, "about_bytes", int, where, 0),
    )


class _Reader:
    """Takes values out of JSON and says where one is missing or of another kind."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, table: Any, key: str, kind: type, where: str, default: Any = None) -> Any:
        """Return table[key], or the default where there is one and no such key."""
        if not isinstance(table, dict):
            raise self.wrong(where or "it", "must be a table")
        value = table.get(key, default)
        place = f"{where}.{key}".removeprefix(".")
        if value is None:
            raise self.wrong(place, "is missing")
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.wrong(place, f"must be of the kind {kind.__name__}, not {value!r}")
        return value

    def wrong(self, where: str, what: str) -> RecipeError:
        return RecipeError(f"{self._path}: {where}: {what}", 2)

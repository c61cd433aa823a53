"""TMX: translation memories, read unit by unit in constant memory whatever their size.

Of each unit the segments in two languages are a pair (TMX 1.4b, 2005). Inside a segment the text of <hi> is kept: it
only marks a part of the sentence. What native codes hold (<bpt>, <ept>, <it>, <ph>, <ut>) is no text; nor is a <sub> in
them, which is a text of its own (a footnote, a title) in the middle of another. A code that stands for a break of line,
column or page becomes a space.

A document type may be named, as many programs do, but nothing is fetched for it; entities that a file declares or that
it does not explain are refused.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from nmtkit.corpus.archives import opened
from nmtkit.errors import DataError

CHUNK = 1 << 17
"""Bytes parsed at a time."""
LONGEST = 1 << 26
"""Bytes that a segment, a tag or a comment may have; what is longer would fill the memory."""

_CODES = frozenset(("bpt", "ept", "it", "ph", "ut", "sub"))
_BREAKS = frozenset(("lb", "cb", "pb"))
_MOST_LANGUAGES = 20
"""Languages named where those that are wanted are missing."""


class Unit(NamedTuple):
    """A unit: its number in the file, from 1, and its texts in the two languages, None where it lacks one of them.

    The texts are UTF-8 without line feeds; a line break is a vertical tab, which XML cannot hold otherwise.
    """

    number: int
    source: bytes | None
    target: bytes | None


class Batch(NamedTuple):
    """Units that follow one another, and how many bytes of the file were read to get them."""

    units: list[Unit]
    read: int


def read_units(path: Path, name: str, languages: tuple[str, str]) -> Iterator[Batch]:
    """Yield the units of a file, plain or packed; `name` is what messages call it, `languages` the codes of both sides.

    A code matches itself and what is more precise: `en` matches `en-GB`. Where a unit has several texts of a language,
    one of the very code comes first, then the one that stands first.

    Raises DataError where the file is no well-formed TMX, uses entities, or has no unit in both languages.
    """
    parser = _Parser(name, languages)
    before = 0
    with opened(path, name) as (stream, position):
        while True:
            chunk = stream.read(CHUNK)
            units = parser.parse(chunk)
            if units:
                yield Batch(units, position() - before)
                before = position()
            if not chunk:
                break
    parser.check_found()


class _Parser:
    """Expat with handlers that gather the units of what was parsed since the last call."""

    def __init__(self, name: str, languages: tuple[str, str]) -> None:
        self._name = name
        self._wanted = tuple(_normalized(code) for code in languages)
        self._languages = languages
        self._expat = expat.ParserCreate()
        self._expat.buffer_text = True
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._characters
        self._expat.EntityDeclHandler = self._refuse_entity
        self._expat.SkippedEntityHandler = self._refuse_unknown_entity
        self._expat.ExternalEntityRefHandler = self._refuse_external
        self._fed = 0
        self._units: list[Unit] = []
        self._number = self._pairs = 0
        self._seen: dict[str, int] = {}
        self._is_tmx = False
        self._language = ""
        # The texts of the unit, one for each language wanted, with how well its code fits: 0 is best.
        self._texts: list[tuple[int, bytes] | None] = [None, None]
        self._text: list[str] | None = None
        self._length = self._muted = 0

    def parse(self, chunk: bytes) -> list[Unit]:
        """Return the units that end in the next chunk of a file; an empty chunk is its end."""
        self._units = []
        self._fed += len(chunk)
        try:
            self._expat.Parse(chunk, not chunk)
        except expat.ExpatError as error:
            raise self._wrong(
                f"no well-formed XML ({expat.ErrorString(error.code)})", "repair the file; xmllint finds such places"
            ) from None
        except (LookupError, ValueError) as error:
            raise self._wrong(f"an encoding that is not known ({error})", "convert the file to UTF-8") from None
        if chunk and self._fed - max(self._expat.CurrentByteIndex, 0) > LONGEST:
            raise self._wrong(f"a tag or comment longer than {LONGEST >> 20} MiB", "repair the file")
        return self._units

    def check_found(self) -> None:
        """Raise DataError where no unit had both languages."""
        if self._pairs:
            return
        known = sorted(self._seen, key=lambda code: (-self._seen[code], code))[:_MOST_LANGUAGES]
        has = ", ".join(f"{code or 'none given'} ({self._seen[code]:,})" for code in known) or "no texts at all"
        source, target = self._languages
        raise DataError(
            f"{self._name}: none of its {self._number:,} units has both {source} and {target}; "
            f"its languages are {has}; name two of them with the key `codes`"
        )

    def _wrong(self, what: str, remedy: str) -> DataError:
        line, column = self._expat.CurrentLineNumber, self._expat.CurrentColumnNumber + 1
        return DataError(f"{self._name}, line {line}, column {column}: {what}; {remedy}")

    # What expat calls.

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self._is_tmx:
            self._check_root(tag)
        if self._text is not None:
            if self._muted or tag in _CODES:
                self._muted += 1
                if self._muted == 1 and attributes.get("type") in _BREAKS:
                    self._text.append(" ")
        elif tag == "tu":
            self._number += 1
            self._texts = [None, None]
        elif tag == "tuv":
            self._language = attributes.get("xml:lang") or attributes.get("lang", "")
        elif tag == "seg":
            self._text, self._length, self._muted = [], 0, 0

    def _characters(self, text: str) -> None:
        if self._text is not None and not self._muted:
            self._text.append(text)
            self._length += len(text)
            if self._length > LONGEST:
                raise self._wrong(f"a segment longer than {LONGEST >> 20} MiB", "divide or remove it")

    def _end(self, tag: str) -> None:
        if self._muted:
            self._muted -= 1
        elif tag == "seg" and self._text is not None:
            self._keep("".join(self._text))
            self._text = None
        elif tag == "tu":
            source, target = (None if found is None else found[1] for found in self._texts)
            if source is None or target is None:
                source = target = None
            else:
                self._pairs += 1
            self._units.append(Unit(self._number, source, target))

    def _keep(self, text: str) -> None:
        """Let the text that has just ended be that of its language, unless there is a better one."""
        code = _normalized(self._language)
        if code in self._seen or len(self._seen) < 1000:
            self._seen[code] = self._seen.get(code, 0) + 1
        for side, wanted in enumerate(self._wanted):
            fit = 0 if code == wanted else 1 if code.startswith(f"{wanted}-") else 2
            best = self._texts[side]
            if fit < (2 if best is None else best[0]):
                self._texts[side] = (fit, text.replace("\n", "\v").encode())

    def _check_root(self, tag: str) -> None:
        if tag != "tmx":
            raise DataError(f"{self._name} is no TMX file: it begins with <{tag}>, not <tmx>; check the name")
        self._is_tmx = True

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise self._wrong(f"declares the entity {name!r}, which may be made to fill the memory", _REMEDY)

    def _refuse_unknown_entity(self, name: str, is_parameter: bool) -> None:  # noqa: ARG002
        raise self._wrong(f"uses the entity {name!r}, which is not explained in the file", _REMEDY)

    def _refuse_external(self, *_: object) -> int:
        raise self._wrong("wants another file to be read", _REMEDY)


_REMEDY = "write the characters themselves and remove the declaration"


def _normalized(code: str) -> str:
    return code.strip().lower().replace("_", "-")

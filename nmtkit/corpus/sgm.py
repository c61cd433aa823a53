"""SGM: the test sets of WMT, documents of numbered segments, as NIST's evaluations wrote them.

They are no XML and often not even well-formed, so only their own tags are looked for. A segment ends at its end tag, or
where the next of these tags begins; anything else is text. Text is UTF-8, as everywhere: nothing in a file says what
else it could be, and a wrong guess would change scores without a word.
"""

import re
from html.entities import html5
from pathlib import Path
from typing import NamedTuple

from nmtkit.corpus.archives import ENDINGS, opened
from nmtkit.errors import DataError

LARGEST = 1 << 28
"""Bytes of a file, which is read whole: the largest test set has some megabytes."""

_TAG = re.compile(rb"<(/?)(seg|doc|hl|p|srcset|refset|tstset|mteval)((?:\s[^<>]*)?)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"""([\w:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_REFERENCE = re.compile(rb"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z][A-Za-z0-9]*));")
_SPACE = re.compile(rb"[ \t\r\n]*[\r\n][ \t\r\n]*")
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)


class Segment(NamedTuple):
    """A segment: the names of its document and of itself, empty where it has none, and its text on one line, UTF-8."""

    document: str
    name: str
    text: bytes


def is_sgm(path: Path) -> bool:
    """Tell by its name whether a file is SGM; it may be packed."""
    name = path.name.lower()
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return name.endswith((".sgm", ".sgml"))


def read_segments(path: Path, name: str = "") -> list[Segment]:
    """Return the segments of a file in their order; `name` is what messages call it.

    Raises DataError where it cannot be read or holds no segment.
    """
    name = name or str(path)
    with opened(path, name) as (stream, _):
        content = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise DataError(
            f"{name} is larger than an SGM file may be ({LARGEST >> 20} MiB); write its text one line a segment"
        )
    segments = parse(content)
    if not segments:
        raise DataError(
            f"{name} holds no segment (<seg>); an SGM file has them, text with one sentence a line has no .sgm"
        )
    return segments


def parse(content: bytes) -> list[Segment]:
    """Return the segments in the content of a file."""
    segments: list[Segment] = []
    document, name, begin = "", "", -1
    content = _COMMENT.sub(b"", content)
    for tag in _TAG.finditer(content):
        if begin >= 0:
            segments.append(Segment(document, name, _text(content[begin : tag.start()])))
            begin = -1
        opens, kind = not tag[1], tag[2].lower()
        if kind == b"doc":
            document = _attribute(tag[3], b"docid") if opens else ""
        elif kind == b"seg" and opens:
            name, begin = _attribute(tag[3], b"id"), tag.end()
    if begin >= 0:
        segments.append(Segment(document, name, _text(content[begin:])))
    return segments


def check_same(source: list[Segment], target: list[Segment], source_name: str, target_name: str) -> None:
    """Raise DataError, naming the first place, where segments that should translate each other have other names."""
    for number, (one, other) in enumerate(zip(source, target, strict=False), start=1):
        both = ((one.document, other.document), (one.name, other.name))
        if any(mine and yours and mine != yours for mine, yours in both):
            raise DataError(
                f"segment {number} of {source_name} is {_called(one)} but that of {target_name} is {_called(other)}; "
                "give files of the same test set, in the same order"
            )


def _called(segment: Segment) -> str:
    return f"{segment.name or '?'} of document {segment.document or '?'}"


def _text(raw: bytes) -> bytes:
    """Return the text of a segment on one line, its references resolved."""
    return _SPACE.sub(b" ", _REFERENCE.sub(_character, raw.strip(b" \t\r\n"))).strip(b" \r\n")


def _character(reference: re.Match[bytes]) -> bytes:
    """Return the character that is referred to, or the reference as it stands where there is none such."""
    decimal, hexadecimal, name = reference.groups()
    if name is not None:
        found = html5.get(f"{name.decode()};", "")
    else:
        number = int(decimal) if decimal is not None else int(hexadecimal, 16)
        found = chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else ""
    return found.encode() or reference[0]


def _attribute(attributes: bytes, name: bytes) -> str:
    for found in _ATTRIBUTE.finditer(attributes):
        if found[1].lower() == name:
            return (found[2] or found[3] or found[4] or b"").decode("utf-8", "replace")
    return ""

"""What lines a file holds and what text they become, worked out anew and slowly, to compare readers with."""

import gzip
import unicodedata

from nmtkit.corpus.archives import PACKINGS

MARK = b"\xef\xbb\xbf"
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def unpacked(content: bytes, ending: str) -> bytes:
    """Return the content of a packed file, whose name has this ending: member after member, zeros between them."""
    if ending == ".gz":
        return gzip.decompress(content)
    start, _ = next(packing for packing in PACKINGS if packing.ending == ending).load()
    text = b""
    while content:
        member = start()
        text += member.decompress(content, -1)
        assert member.eof
        content = member.unused_data.lstrip(b"\0")
    return text


def raw_lines(content: bytes) -> list[bytes]:
    """Return the lines of a file: as many as line feeds, and one more where something follows the last."""
    parts = content.split(b"\n")
    if not parts[-1]:
        parts.pop()
    if parts and parts[0].startswith(MARK):
        parts[0] = parts[0][len(MARK) :]
    return [part[:-1] if part.endswith(b"\r") else part for part in parts]


def count(content: bytes) -> int:
    """Return the number of lines of a file."""
    return content.count(b"\n") + (content != b"" and content[-1:] != b"\n")


def first_bad_byte(raw: bytes) -> int | None:
    """Return where the first byte stands that is not UTF-8; None where all are."""
    place = 0
    while place < len(raw):
        size = _character(raw, place)
        if not size:
            return place
        place += size
    return None


def broken_byte(raw: bytes) -> int:
    """Return the number, from 1, of the first byte that is not UTF-8 of a line that has one."""
    place = first_bad_byte(raw)
    assert place is not None
    return place + 1


def mended(raw: bytes) -> str:
    """Return the clean text of a line, U+FFFD for each byte that is not UTF-8."""
    text, place = "", 0
    while place < len(raw):
        size = _character(raw, place)
        text += _clean(raw[place : place + size].decode()) if size else REPLACEMENT
        place += size or 1
    return text


def strict(raw: bytes) -> str | None:
    """Return the clean text of a line, None where it is not UTF-8."""
    return mended(raw) if first_bad_byte(raw) is None else None


def is_one_line(text: str) -> bool:
    """Tell whether no program takes a part of this for a line end, a column or a control."""
    return text.splitlines() in ([], [text]) and all(char >= " " for char in text)


def is_separator(char: str) -> bool:
    """Tell whether a character becomes a space: white space that is a control or parts lines or paragraphs."""
    return char.isspace() and unicodedata.category(char) in ("Cc", "Zl", "Zp")


def is_control(char: str) -> bool:
    """Tell whether a character vanishes."""
    return unicodedata.category(char) == "Cc" and char < " " and not is_separator(char)


def _character(raw: bytes, place: int) -> int:
    """Return how many bytes the character that begins at a place has; 0: none begins there."""
    for size in (1, 2, 3, 4):
        try:
            raw[place : place + size].decode()
        except UnicodeDecodeError:
            continue
        return size
    return 0


def _clean(char: str) -> str:
    return " " if is_separator(char) else "" if is_control(char) else char

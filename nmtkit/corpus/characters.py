"""Characters: which ones a text holds beside ordinary ones, found fast for many lines at once."""

from collections.abc import Set
from functools import cached_property

WHITE = frozenset(
    "\t\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""What str.isspace calls white space, but for the space and the line feed."""

SEPARATORS = frozenset("\t\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029")
"""What `lines.clean` replaces by a space, but for the line feed."""
CONTROLS = frozenset(map(chr, [*range(0x09), *range(0x0E, 0x1C)]))
"""What `lines.clean` removes."""

# UTF-8 spells no other character with any of these bytes, so what is left of it after their removal is UTF-8 too.
_ORDINARY = bytes([0x0A, *range(0x20, 0x7F)])


def unusual_in(text: bytes) -> set[str]:
    """Return the characters of a text in UTF-8 that are neither printable ASCII nor line feeds.

    Costs about a nanosecond a byte, where set(text) costs twenty.
    """
    return set(text.translate(None, _ORDINARY).decode("utf-8", "surrogatepass"))


class Lines:
    """Many lines looked at as one text, so that it costs little to find the few that need work.

    No line holds a line feed. `data` may give the lines as UTF-8, with a line feed between them, `unusual` what
    `unusual_in` returns for it, where they are at hand.
    """

    def __init__(self, lines: list[str], data: bytes | None = None, unusual: set[str] | None = None) -> None:
        self.lines = lines
        self._data, self._unusual = data, unusual

    @cached_property
    def text(self) -> str:
        """The lines with a line feed between them."""
        return "\n".join(self.lines)

    @property
    def data(self) -> bytes:
        """The text in UTF-8."""
        if self._data is None:
            self._data = self.text.encode("utf-8", "surrogatepass")
        return self._data

    @property
    def unusual(self) -> set[str]:
        """The characters that are neither printable ASCII nor line feeds."""
        if self._unusual is None:
            self._unusual = unusual_in(self.data)
        return self._unusual

    def with_any(self, characters: Set[str]) -> list[int]:
        """Return the places of the lines that hold any of some characters."""
        positions = []
        for character in characters & self.unusual:
            spelled = character.encode("utf-8", "surrogatepass")
            position = self.data.find(spelled)
            while position >= 0:
                positions.append(position)
                position = self.data.find(spelled, position + 1)
        return self._places(positions) if positions else []

    def with_loose_spaces(self) -> list[int]:
        """Return the places of the lines that begin or end with a space or have two in a row."""
        import numpy as np

        characters = np.frombuffer(b"\n" + self.data + b"\n", np.uint8)
        space, end = characters == 0x20, characters == 0x0A
        loose = (space[1:] & (space | end)[:-1]) | (end[1:] & space[:-1])
        return self._places(np.flatnonzero(loose).tolist()) if loose.any() else []

    def _places(self, positions: list[int]) -> list[int]:
        """Return the places of the lines in which bytes stand; their line feeds count with them."""
        import numpy as np

        ends = np.flatnonzero(np.frombuffer(self.data, np.uint8) == 0x0A)
        places: list[int] = np.unique(np.searchsorted(ends, positions)).tolist()
        return places


def replace_all(text: str, characters: Set[str], by: str) -> str:
    """Return a text with each of the characters replaced."""
    for character in characters:
        text = text.replace(character, by)
    return text

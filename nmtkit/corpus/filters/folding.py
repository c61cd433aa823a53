"""Folding: texts that differ only in case, punctuation or digits made alike."""

import re
import unicodedata
from string import punctuation
from typing import NamedTuple

from nmtkit.corpus.characters import replace_all, unusual_in

_DIGIT = re.compile(r"\d")
_ASCII = f"{punctuation} ".encode()


class Folding(NamedTuple):
    """What is made alike. White space goes with punctuation; a text of nothing else stays as it is."""

    case: bool = False
    punctuation: bool = False
    digits: bool = False

    def __call__(self, line: str) -> str:
        """Return the folded line."""
        return self._fold(line) or line

    def lines(self, lines: list[str]) -> list[str]:
        """Return the lines folded: what calling for each would give, but faster. None holds a line feed."""
        if not any(self) or not lines:
            return lines
        folded = self._fold("\n".join(lines)).split("\n")
        return [new or old for new, old in zip(folded, lines, strict=True)] if "" in folded else folded

    def _fold(self, text: str) -> str:
        """Return lines, with a line feed between them, folded."""
        if self.case:
            text = text.casefold()
        if self.punctuation:
            data = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
            text = data.decode("utf-8", "surrogatepass")
            text = replace_all(text, {character for character in unusual_in(data) if _shows_no_word(character)}, "")
        return _DIGIT.sub("0", text) if self.digits else text


def _shows_no_word(character: str) -> bool:
    """Return whether a character is neither letter nor digit nor, as the vowel signs of India are, a mark of one."""
    return unicodedata.category(character)[0] not in "LMN"

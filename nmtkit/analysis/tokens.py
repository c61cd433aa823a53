"""Tokens: what a sentence is compared by, words and marks, and single characters where no spaces are written."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Literal

from nmtkit.corpus.profile import script_of

Unit = Literal["words", "characters"]

UNSPACED_SCRIPTS = ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan")
"""Scripts that put no space between words."""


def tokens(text: str) -> list[str]:
    """Return the tokens of a text, which are the text again when joined.

    A token is a run of white space; a word, with what binds its parts (a hyphen, an apostrophe, the comma of a number);
    a character of a script that writes no spaces; or any other character. Marks stay with what they stand on.
    """
    found: list[str] = _pattern().findall(text)
    return found


@cache
def _pattern() -> Any:
    import regex

    unspaced = "".join(rf"\p{{Script_Extensions={script}}}" for script in UNSPACED_SCRIPTS)
    letter = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{unspaced}]]"
    word = rf"{letter}+(?:(?:['’‐-]|(?<=\d)[.,:](?=\d)){letter}+)*"
    return regex.compile(rf"\s+|{word}|\X", regex.V1)


def is_word(token: str) -> bool:
    """Tell whether a token is a word or a character of a word, not white space or a mark."""
    return any(map(str.isalnum, token))


def words(text: str) -> list[str]:
    """Return the words of a text, or its characters where no spaces are written, in lower case."""
    return [token.casefold() for token in tokens(text) if is_word(token)]


def unit_of(lines: Iterable[str]) -> Unit:
    """Return what lines are measured in: characters, where most letters are of scripts without spaces."""
    letters = Counter[str]()
    for line in lines:
        letters.update(line)
    scripts = Counter[bool]()
    for character, count in letters.items():
        if script := script_of(character):
            scripts[script in UNSPACED_SCRIPTS] += count
    return "characters" if scripts[True] > scripts[False] else "words"


def phrase(some: Sequence[str]) -> str:
    """Return words as a phrase: with spaces between them, but not between characters of scripts without spaces."""
    text = ""
    for word in some:
        apart = text and not (script_of(text[-1]) in UNSPACED_SCRIPTS and script_of(word[0]) in UNSPACED_SCRIPTS)
        text += f" {word}" if apart else word
    return text

"""Repeats: phrases that a sentence says more than once, as translations do that have lost their place."""

from collections.abc import Sequence

from nmtkit.analysis.tokens import UNSPACED_SCRIPTS, is_word, phrase
from nmtkit.corpus.profile import script_of

LONGEST = 10
"""Tokens of the longest phrase that is looked for where it follows itself at once."""
APART, APART_UNSPACED = 4, 10
"""Words of a phrase that no sentence says twice by chance, and characters in scripts without spaces."""
SHORT = 3
"""Letters of a word that may well follow itself, as in German "die die"; so may as many characters of such a script."""
OFTEN = 4
"""Times that even these do not follow themselves."""


def repeated(tokens: Sequence[str]) -> str:
    """Return a phrase that a sentence repeats, empty where there is none. White space belongs not among the tokens.

    A repeated phrase follows itself at once, or has APART words and more and stands anywhere twice.
    """
    return _at_once(tokens) or _anywhere([token for token in tokens if is_word(token)])


def _at_once(tokens: Sequence[str]) -> str:
    folded = [token.casefold() for token in tokens]
    for length in range(1, min(LONGEST, len(folded) // 2) + 1):
        run = 0  # how many tokens up to this one equal those a phrase behind them
        for place in range(len(folded) - length):
            run = run + 1 if folded[place] == folded[place + length] else 0
            if run and run % length == 0:
                begin = place + 1 - run
                some = tokens[begin : begin + length]
                if _counts(some, 1 + run // length):
                    return _trimmed(some)
    return ""


def _counts(some: Sequence[str], times: int) -> bool:
    """Tell whether it says something that a phrase follows itself so many times."""
    said = [token for token in some if is_word(token)]
    if not said or all(word.isdecimal() for word in said):
        return False
    if all(map(_unspaced, said)):
        return len(said) >= SHORT or times >= OFTEN
    return len(some) > 1 or len(said[0]) > SHORT or times >= OFTEN


def _trimmed(some: Sequence[str]) -> str:
    """Return a phrase without the marks around it."""
    words = [place for place, token in enumerate(some) if is_word(token)]
    return phrase(some[words[0] : words[-1] + 1])


def _anywhere(words: Sequence[str]) -> str:
    length = APART_UNSPACED if sum(map(_unspaced, words)) * 2 > len(words) else APART
    folded = [word.casefold() for word in words]
    seen: dict[tuple[str, ...], int] = {}
    for place in range(len(folded) - length + 1):
        if seen.setdefault(tuple(folded[place : place + length]), place) <= place - length:
            return phrase(words[place : place + length])
    return ""


def _unspaced(token: str) -> bool:
    return script_of(token[0]) in UNSPACED_SCRIPTS

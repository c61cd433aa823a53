"""Cutting: where an over-long sentence is parted so that each part can be translated by itself."""

from collections.abc import Sequence

WORD_START = "▁"
SPACED_ENDS = ".!?…։।؟۔"
"""Characters that end a sentence where a space follows."""
UNSPACED_ENDS = "。．！？｡"
"""Characters that end a sentence whatever follows."""
CLOSERS = "\"'”’»›)]}」』）】》"
"""What may stand between the end of a sentence and the next one."""


def cut(pieces: Sequence[str], maximum: int) -> list[int]:
    """Return where each part ends; no part has more than `maximum` pieces, and the last one ends at the end.

    `pieces` are surface forms, "▁" marking a space before. Each cut is made at the last sentence end that
    fits, else at the last word start, else at the maximum, but not within the bytes of one character.
    """
    ends = []
    begin = 0
    while len(pieces) - begin > maximum:
        begin = _last_cut(pieces, begin, begin + maximum)
        ends.append(begin)
    return [*ends, len(pieces)]


def holds_several(pieces: Sequence[str]) -> bool:
    """Tell whether a sentence ends within the pieces, so that another one follows."""
    return any(_ends_sentence(pieces, 0, place) for place in range(1, len(pieces)))


def _last_cut(pieces: Sequence[str], begin: int, latest: int) -> int:
    places = range(latest, begin, -1)
    for place in places:
        if _ends_sentence(pieces, begin, place):
            return place
    for place in places:
        if pieces[place].startswith(WORD_START):
            return place
    for place in places:
        if not _continues_character(pieces[place]):
            return place
    return latest


def _ends_sentence(pieces: Sequence[str], begin: int, place: int) -> bool:
    """Tell whether a sentence ends right before the piece at `place`."""
    spaced = pieces[place].startswith(WORD_START)
    for before in range(place - 1, begin - 1, -1):
        text = pieces[before].rstrip(CLOSERS)
        if text:
            return text[-1] in UNSPACED_ENDS or (spaced and text[-1] in SPACED_ENDS)
    return False


def _continues_character(piece: str) -> bool:
    """Tell whether a piece is one of the later bytes (0x80-0xBF) of a character spelt in bytes: "<0x9F>"."""
    return len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">") and piece[3] in "89AB"

"""Where over-long lines are parted."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.translation.cutting import cut, holds_several


def parts(text: str, maximum: int) -> list[str]:
    """Cut pieces written with | between them."""
    pieces = text.split("|")
    ends = cut(pieces, maximum)
    return ["|".join(pieces[begin:end]) for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


@pytest.mark.parametrize(
    ("text", "maximum", "expected"),
    [
        ("▁A|▁b|.|▁C|▁d|.", 6, ["▁A|▁b|.|▁C|▁d|."]),
        ("▁A|▁b|.|▁C|▁d|.", 5, ["▁A|▁b|.", "▁C|▁d|."]),
        ("▁A|.|▁B|!|▁C|?|▁D|.", 5, ["▁A|.|▁B|!", "▁C|?|▁D|."]),
        ('▁A|▁b|.|"|▁C|▁d|.', 5, ['▁A|▁b|.|"', "▁C|▁d|."]),
        ("▁A|b.”|▁C|▁d|.", 4, ["▁A|b.”", "▁C|▁d|."]),
        ("▁3|.|5|▁per|▁cent", 4, ["▁3|.|5|▁per", "▁cent"]),
        ("▁你|好|。|再|见|。", 5, ["▁你|好|。", "再|见|。"]),
        ("▁a|b|▁c|d|▁e|f", 3, ["▁a|b", "▁c|d", "▁e|f"]),
        ("a|b|c|d|e|f|g", 3, ["a|b|c", "d|e|f", "g"]),
        ("a|b|<0xE2>|<0x80>|<0xA8>|c", 4, ["a|b", "<0xE2>|<0x80>|<0xA8>|c"]),
        ("<0x80>|<0x80>|<0x80>|<0x80>", 3, ["<0x80>|<0x80>|<0x80>", "<0x80>"]),
        ("▁a|▁b|▁c", 1, ["▁a", "▁b", "▁c"]),
    ],
)
def test_cuts_at_sentence_ends_then_words_then_anywhere(text: str, maximum: int, expected: list[str]) -> None:
    assert parts(text, maximum) == expected


@given(st.lists(st.sampled_from(["▁a", "b", ".", "。", '"', "<0xE2>", "<0x80>", "▁"]), max_size=40), st.integers(1, 9))
def test_parts_are_in_order_whole_and_short_enough(pieces: list[str], maximum: int) -> None:
    ends = cut(pieces, maximum)
    assert ends[-1] == len(pieces)
    assert all(1 <= after - before <= maximum for before, after in pairwise([0, *ends])) or not pieces


@pytest.mark.parametrize(
    ("text", "several"),
    [
        ("▁A|▁b|.", False),
        ("▁A|.|▁B|.", True),
        ('▁A|.|"|▁B', True),
        ("▁3|.|5", False),
        ("▁你|好|。|再|见", True),
        ("", False),
    ],
)
def test_several_sentences(text: str, several: bool) -> None:
    assert holds_several(text.split("|")) == several

"""Tokens: words, marks, and characters where no spaces are written."""

import pytest
from hypothesis import given
from toy.texts import LINES

from nmtkit.analysis.tokens import is_word, phrase, tokens, unit_of, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ein Hund, der läuft.", ["Ein", " ", "Hund", ",", " ", "der", " ", "läuft", "."]),
        ("a well-known  don’t", ["a", " ", "well-known", "  ", "don’t"]),
        ("1,234.50 at 17:30", ["1,234.50", " ", "at", " ", "17:30"]),
        ("end.Next 3.b", ["end", ".", "Next", " ", "3", ".", "b"]),
        ("日本のDVDです。", ["日", "本", "の", "DVD", "で", "す", "。"]),
        ("ラーメン", ["ラ", "ー", "メ", "ン"]),
        ("สวัสดี", ["ส", "วั", "ส", "ดี"]),
        ("हिन्दी भाषा", ["हिन्दी", " ", "भाषा"]),
        ("e\u0301te\u0301 👩‍👩‍👧!", ["e\u0301te\u0301", " ", "👩‍👩‍👧", "!"]),
        ("", []),
    ],
)
def test_tokens(text, expected):
    assert tokens(text) == expected


@given(LINES)
def test_tokens_are_the_text_again(line):
    found = tokens(line)
    assert "".join(found) == line
    assert all(found)


def test_words_are_in_lower_case_and_no_marks():
    assert words("Ein HUND, 3 Straßen …") == ["ein", "hund", "3", "strassen"]
    assert is_word("3")
    assert not is_word("…")


def test_the_unit_is_that_of_most_letters():
    assert unit_of(["a dog", "日本"]) == "words"
    assert unit_of(["a 日本の犬", "犬"]) == "characters"
    assert unit_of(["1 2 …"]) == "words"


def test_a_phrase_has_no_spaces_between_characters():
    assert phrase(["a", "dog"]) == "a dog"
    assert phrase(["犬", "は", "DVD", "だ"]) == "犬は DVD だ"

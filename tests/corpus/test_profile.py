from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.corpus.profile import LOOKED_AT, Profile, added, script_of, stride_for, word_counts

LINES = st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=12), max_size=8)


def plain(lines: list[str]) -> list[int]:
    counts = [len([word for word in line.split(" ") if word]) for line in lines]
    return [counts.count(number) for number in range(max(counts) + 1)] if counts else []


@given(LINES)
def test_words_are_what_spaces_part(lines: list[str]) -> None:
    assert word_counts(lines) == plain(lines)


@given(st.lists(st.sampled_from(["a b c", "a", "", " a", "a ", "a  b", " "]), max_size=5))
def test_words_are_counted_among_loose_spaces(lines: list[str]) -> None:
    assert word_counts(lines) == plain(lines)


@given(LINES, LINES)
def test_parts_add_up_to_the_whole(lines: list[str], more: list[str]) -> None:
    size = min(len(lines), len(more))
    whole, first, second = Profile(), Profile(), Profile()
    targets = more[:size] + lines[:size]
    for profile, begin, end in ((whole, 0, 2 * size), (first, 0, size), (second, size, 2 * size)):
        sides = (lines[:size] + more[:size])[begin:end], targets[begin:end]
        profile.count_words(*sides)
        profile.look(*sides, back=sides)
    first.merge(second)
    assert first == whole
    assert Profile.from_json(asdict(whole)) == whole


def test_lines_are_looked_at() -> None:
    profile = Profile()
    sources = ["A dog.", "a dog!»", "犬。", "PARIS 1999", "12,50 euro?", "кот и dog"]
    targets = ["Ein Hund", "ein hund", "犬", "PARIS 1989", "12.50 Euro", "x"]
    profile.look(sources, targets, ([*sources[:5], "lost"], targets))
    assert (profile.looked_at, profile.with_numbers, profile.numbers_differ) == (6, 2, 1)
    source, target = profile.source, profile.target
    assert (source.cased, source.capital, source.ended, source.lost) == (5, 2, 4, 1)
    assert (target.cased, target.capital, target.ended, target.lost) == (5, 3, 0, 0)
    assert source.scripts == {"Latin": 20, "Han": 1, "Cyrillic": 4}


def test_lists_of_different_length_are_added() -> None:
    assert added([1, 2, 3], [10]) == [11, 2, 3] == added([10], [1, 2, 3])
    assert added([], []) == []


@pytest.mark.parametrize(
    ("character", "script"),
    [("a", "Latin"), ("ж", "Cyrillic"), ("漢", "Han"), ("か", "Hiragana"), ("ㅎ", "Hangul"), ("ع", "Arabic"),
     ("1", ""), (".", ""), ("\u0301", ""), ("µ", ""), ("ª", ""), ("ʰ", "")],
)  # fmt: skip
def test_letters_have_a_script(character: str, script: str) -> None:
    assert script_of(character) == script


@pytest.mark.parametrize("pairs", [0, 1, 2_999, 3_000, 29_000, 2_000_001, 36_000_000])
def test_about_as_many_are_looked_at_in_any_corpus(pairs: int) -> None:
    stride = stride_for(pairs)
    assert stride % 2 == 1
    assert min(pairs, LOOKED_AT / 2) <= pairs / stride <= 2 * LOOKED_AT

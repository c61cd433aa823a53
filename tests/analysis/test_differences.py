"""Differences: what two sentences share, and what is marked."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy.texts import LINES

from nmtkit.analysis.differences import ALIKE_WORD, SAME_MARK, SAME_WORD, alike, compare
from nmtkit.analysis.tokens import is_word, tokens

WORDS = st.lists(st.sampled_from(["ein", "eine", "einen", "Hund", "Hunde", "rot", "rotes", ",", ".", "日"]), max_size=9)


def marks(ours, theirs):
    return [[like.mark for like in side] for side in compare(ours.split(), theirs.split())]


def test_words_in_one_order_are_the_same():
    assert marks("ein Hund läuft .", "ein Hund rennt .") == [["same", "same", "only", "same"]] * 2
    assert marks("", "ein") == [[], ["only"]]


def test_words_in_another_order_have_moved():
    ours, theirs = marks("heute kommt er", "er kommt heute")
    assert sorted(ours) == sorted(theirs) == ["moved", "moved", "same"]


def test_a_word_moves_only_as_often_as_it_is_there():
    assert marks("Haus gelb Haus Haus", "gelb rot Haus")[0].count("only") == 2
    ours, theirs = marks("Haus rot gelb blau Haus", "rot gelb blau Haus Haus Haus")
    assert [side.count("moved") for side in (ours, theirs)] == [1, 1]


def test_single_characters_and_marks_do_not_move():
    ours, theirs = marks(", 日 本 a", "a 本 日 ,")
    assert "moved" not in {*ours, *theirs}


def test_words_that_begin_or_end_alike_are_near():
    (ours,), (theirs,) = compare(["Karateanzug"], ["Karate-Anzug"])
    assert (ours.mark, "Karateanzug"[ours.begin : ours.end]) == ("near", "a")
    assert (theirs.mark, "Karate-Anzug"[theirs.begin : theirs.end]) == ("near", "-A")
    (ours,), (theirs,) = compare(["Hund"], ["Hunde"])
    assert ours.begin == ours.end
    assert theirs[1:] == (4, 5)


@pytest.mark.parametrize(("ours", "theirs"), [("Haus", "Maus und"), ("an", "in"), ("rennt", "läuft"), ("...", "..!")])
def test_other_words_are_not(ours, theirs):
    assert alike(ours, theirs) is None


def test_capitals_alone_make_no_other_word():
    assert alike("ÉTÉ", "été") is not None


def test_a_mark_is_not_cut_from_its_letter():
    ours, theirs = "cafe\u0301s", "cafe\u0300s"
    both = alike(ours, theirs)
    assert both is not None
    assert [word[like.begin : like.end] for word, like in zip((ours, theirs), both, strict=True)] == [
        "e\u0301",
        "e\u0300",
    ]


def heaviest(ours, theirs):
    """Return the greatest weight of an alignment, by its definition."""

    @cache
    def best(i, j):
        if not i or not j:
            return 0
        one, other = ours[i - 1], theirs[j - 1]
        weight = 0
        if one == other:
            weight = SAME_WORD if is_word(one) else SAME_MARK
        elif alike(one, other):
            weight = ALIKE_WORD
        return max(best(i - 1, j), best(i, j - 1), best(i - 1, j - 1) + weight if weight else 0)

    return best(len(ours), len(theirs))


@given(WORDS, WORDS)
def test_the_alignment_is_the_heaviest(ours, theirs):
    here, there = compare(ours, theirs)
    weights = {"same": lambda word: SAME_WORD if is_word(word) else SAME_MARK, "near": lambda word: ALIKE_WORD}
    for side, likeness in ((ours, here), (theirs, there)):
        got = sum(weights[like.mark](word) for word, like in zip(side, likeness, strict=True) if like.mark in weights)
        assert got == heaviest(ours, theirs)
    for mark in ("same", "moved"):
        sides = [
            sorted(word for word, like in zip(side, likeness, strict=True) if like.mark == mark)
            for side, likeness in ((ours, here), (theirs, there))
        ]
        assert sides[0] == sides[1]


@given(LINES, LINES)
def test_any_text_is_compared(one, other):
    ours, theirs = ([token for token in tokens(line) if not token.isspace()] for line in (one, other))
    for side, likeness in zip((ours, theirs), compare(ours, theirs), strict=True):
        assert len(side) == len(likeness)
        for token, like in zip(side, likeness, strict=True):
            assert 0 <= like.begin <= like.end <= len(token)
    assert {like.mark for side in compare(ours, ours) for like in side} <= {"same"}

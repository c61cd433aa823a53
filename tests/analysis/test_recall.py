"""Words that systems find, miss and put in."""

from collections import Counter

import pytest

from nmtkit.analysis.recall import Found, by_class, matches, missed, put_in
from nmtkit.analysis.texts import Texts


def texts(references, hypotheses):
    return Texts([], [references], [hypotheses])


def test_matches_count_each_word_once():
    some = matches(texts(["der Hund der Frau .", "ja"], ["Der Hund Hund", "nein"]), 0)
    assert some.wanted == Counter(der=2, hund=1, frau=1, ja=1)
    assert some.given == Counter(der=1, hund=2, nein=1)
    assert some.found == Counter(der=1, hund=1)


def test_each_line_is_compared_with_its_closest_reference():
    some = matches(Texts([], [["a b c", "x y"], ["a d e", "x y z"]], [["a d f", "x y"]]), 0)
    assert some.found.total() == 4
    assert some.wanted.total() == 5


def test_classes_by_frequency():
    some = matches(texts(["der seltene Hund", "der Hund"], ["der der Hund", "der Kater"]), 0)
    found = {class_.label: numbers for class_, numbers in by_class(some, {"der": 5_000, "hund": 3, "kater": 3})}
    assert found == {"0": Found(1, 0, 0), "2–4": Found(2, 2, 1), "1k–9k": Found(2, 3, 2)}
    assert found["1k–9k"].recall == 100
    assert found["1k–9k"].precision == pytest.approx(200 / 3)
    assert found["0"].precision == 0


def test_words_that_are_always_missed_stand_out():
    references = ["das Hemd ist hier", "ein Hemd ist da", "mein Hemd liegt dort"] * 4
    hypotheses = [line.replace("Hemd", "Shirt") for line in references]
    some = texts(references, hypotheses)
    found = matches(some, 0)
    assert missed(found, some) == [("Hemd", 12, 12)]
    assert put_in(found, some, 0) == [("Shirt", 12, 12)]


def test_nothing_stands_out_of_perfect_or_hopeless_translations():
    for hypotheses in (["a b", "a b"], ["", ""], ["c", "c"]):
        some = texts(["a b", "a b"], hypotheses)
        found = matches(some, 0)
        assert missed(found, some) == put_in(found, some, 0) == []

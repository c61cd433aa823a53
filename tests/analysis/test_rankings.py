"""Rankings of lines, and systems compared line by line."""

from nmtkit.analysis.rankings import comparisons, furthest_apart, worst
from nmtkit.analysis.texts import Texts

REFERENCES = ["eins", "zwei", "drei", "vier vier", "fünf"]
FIRST = ["eins", "", "drin", "vier", "fast"]
SECOND = ["eins", "zwo", "drin", "vier vier", "fünf"]
TEXTS = Texts([], [REFERENCES], [FIRST, SECOND])
SCORES = [[100.0, 0.0, 30.0, 30.0, 20.0], [100.0, 40.0, 30.0, 100.0, 100.0]]


def test_the_worst_come_first_and_of_equal_ones_the_longer():
    assert worst(TEXTS, SCORES[0], 0) == [4, 3, 2]  # not the blank one, nor the perfect one
    assert worst(TEXTS, SCORES[0], 0, most=1) == [4]
    assert worst(TEXTS, SCORES[1], 1) == [2, 1]


def test_lines_where_systems_are_apart():
    assert furthest_apart(SCORES) == [4, 3, 1]
    assert furthest_apart(SCORES, most=2) == [4, 3]
    assert furthest_apart(SCORES[:1]) == []


def test_each_pair_is_compared():
    assert comparisons(TEXTS, SCORES) == [(0, 1, 0, 3, 2, 2)]
    assert [pair[:2] for pair in comparisons(Texts([], [REFERENCES], [FIRST] * 3), [SCORES[0]] * 3)] == [
        (0, 1),
        (0, 2),
        (1, 2),
    ]
    assert comparisons(Texts([], [REFERENCES], [FIRST]), SCORES[:1]) == []

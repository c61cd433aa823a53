"""Groups of lines by length, rarity and label."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.analysis.groups import CLASSES, by_label, by_length, by_rarest_word, class_of, count_words, nice, span
from nmtkit.analysis.texts import Line
from nmtkit.analysis.tokens import words


def lines(*lengths):
    return [Line(" ".join("w" * length)) for length in lengths]


def test_lengths_in_steps_with_the_longest_together():
    groups = by_length(lines(*range(1, 31), *[5] * 2_000, 60, 90))
    assert groups[0].label == "1"
    assert groups[-1].label == "6+"
    assert [len(group.lines) for group in groups[-2:]] == [2_001, 27]


def test_the_groups_have_each_line_once():
    groups = by_length(lines(0, 3, 12, 7, 0, 25, 1_000))
    assert sorted(line for group in groups for line in group.lines) == list(range(7))
    assert groups[0].label == "0"
    assert groups[0].lines == [0, 4]


@given(st.lists(st.integers(0, 60), min_size=1, max_size=60))
def test_each_line_is_in_the_group_that_its_length_says(lengths):
    for group in by_length(lines(*lengths)):
        least, _, most = group.label.replace("+", "–").replace(",", "").partition("–")
        for line in group.lines:
            assert int(least) <= lengths[line] <= int(most or (1_000 if "+" in group.label else least))


def test_lines_by_their_rarest_word():
    counts = {"a": 12_000, "dog": 300, "sleeps": 1}
    groups = by_rarest_word([Line("A dog ."), Line("a Dog sleeps"), Line("a cat"), Line("a"), Line("…")], counts)
    assert groups == [("0", [2]), ("1", [1]), ("100–999", [0]), ("10k+", [3])]


@pytest.mark.parametrize(
    ("count", "label"), [(0, "0"), (1, "1"), (4, "2–4"), (5, "5–9"), (999, "100–999"), (9_999, "1k–9k")]
)
def test_classes(count, label):
    assert CLASSES[class_of(count)].label == label


def test_lines_of_each_label():
    assert by_label(["b", "", "a", "b"]) == [("a", [2]), ("b", [0, 3])]


def test_words_are_counted_in_lower_case():
    some = ["A dog, a DOG.", "日本の日", "don't  a"]
    counts = count_words(some)
    assert counts == {"a": 3, "dog": 2, "日": 2, "本": 1, "の": 1, "don't": 1}
    assert counts.total() == sum(len(words(line)) for line in some)


def test_steps_and_spans():
    assert [nice(least) for least in (0.3, 1, 1.2, 3, 7, 13, 21)] == [1, 1, 2, 5, 10, 20, 50]
    assert [span(1, 1), span(1, 2_000), span(31, None)] == ["1", "1–2,000", "31+"]

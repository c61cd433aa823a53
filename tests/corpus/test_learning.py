"""What vocabularies are learned from: all of a small text, an even share of a large one."""

from collections import Counter

import pytest

from nmtkit.corpus.learning import LearnableLines, LineSample, WordSample
from nmtkit.corpus.pieces import CONTROLS

LINES = [f"w{number % 700} w{number % 31} x" for number in range(9_000)]


def test_words_are_counted_as_they_are() -> None:
    sample = WordSample(10**9)
    sample.take(LINES)
    assert sample.words() == Counter(word for line in LINES for word in line.split(" "))
    assert (sample.lines, sample.first) == (9_000, 0)
    assert sample.words() == {}


def test_lines_are_kept_as_they_are() -> None:
    sample = LineSample(10**9)
    sample.take(LINES)
    assert sorted(sample) == sorted(LINES)
    assert sample.lines == 9_000


@pytest.mark.parametrize("kind", [WordSample, LineSample])
@pytest.mark.parametrize("most", [90_000, 30_000])
def test_of_too_large_a_text_an_even_share_is_kept_wherever_it_stands(kind: type, most: int) -> None:
    distinct = [f"{number:06d} {number + 500_000}" for number in range(40_000)]
    sample = kind(most)
    sample.take(distinct)
    kept = (
        [int(word) for word in sample.words() if int(word) < 500_000]
        if isinstance(sample, WordSample)
        else [int(line[:6]) for line in sample]
    )
    assert sample.first > 1
    assert len(kept) == sample.lines
    assert sum(13 if kind is LineSample else 12 for _ in kept) <= most * 1.1
    assert sample.lines == pytest.approx(40_000 / 2**sample.first, rel=0.1)
    quarters = Counter(number // 10_000 for number in kept)
    assert all(quarters[place] == pytest.approx(len(kept) / 4, rel=0.25) for place in range(4))
    again = kind(most)
    again.take(reversed(distinct))
    assert again.lines == sample.lines


def test_memory_is_given_back_layer_by_layer() -> None:
    """At no time more is kept than there may be, but for the lines that wait to be counted."""
    sample, largest = LineSample(100_000), 0
    for begin in range(0, 60_000, 4_096):
        sample.take(f"{number:09d}" for number in range(begin, begin + 4_096))
        largest = max(largest, sum(map(len, sample)))
    assert largest <= 100_000 + 4_096 * 9


def test_names_of_control_pieces_are_broken_up_and_blank_lines_left_out() -> None:
    names = [*CONTROLS.values(), "<0x4F>", "<tag:bt>"]
    text = LearnableLines([*names, "a▁b▅c", " ", "", "<tag:x> <0xag>"], tags=["bt"])
    assert list(text) == [*(f"< {name[1:]}" for name in names), "a b c", "<tag:x> <0xag>"]
    assert (text.lines, text.too_long) == (8, 0)

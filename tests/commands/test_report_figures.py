import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.commands.report_figures import HEIGHT, WIDTH, histogram, statistics

COUNTS = st.lists(st.integers(0, 10**9), max_size=60)


def test_statistics() -> None:
    counts = [0, 2, 0, 16, 1, 1]  # two of length 1, sixteen of 3, one of 4, one of 5
    assert statistics(counts) == (2.95, 3, 4, 5)
    assert statistics([]) == statistics([0, 0]) == (0, 0, 0, 0)


@given(COUNTS, COUNTS)
def test_any_distribution_is_drawn_inside_the_figure(source: list[int], target: list[int]) -> None:
    figure = ElementTree.fromstring(histogram(source, target, "words"))
    outlines = [path.attrib["d"] for path in figure.iter("path")]
    assert len(outlines) == 2
    for outline in outlines:
        for direction, value in re.findall(r"([HV])(-?[\d.]+)", outline):
            assert 0 <= float(value) <= (WIDTH if direction == "H" else HEIGHT)
    levels = [text.text for text in figure.iter("text") if text.get("class") == "tick end"][:-1]
    assert 2 <= len(levels) <= 7
    assert len(set(levels)) == len(levels)


def test_the_highest_step_is_the_most_frequent_length() -> None:
    figure = ElementTree.fromstring(histogram([0, 5, 20, 10], [35], "pieces"))
    source = next(figure.iter("path")).attrib["d"]
    heights = [190 - float(value) for value in re.findall(r"V([\d.]+)H", source)]
    assert heights == pytest.approx([0, 5 * 180 / 40, 20 * 180 / 40, 10 * 180 / 40], abs=0.11)


def test_what_is_left_out_is_said() -> None:
    counts = [0, 10_000, *[0] * 90, 1]
    assert "words, the 2 longest left out" in histogram(counts, counts, "words")
    assert "left out" not in histogram([0, 10], [0, 10], "words")

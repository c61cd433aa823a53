"""Charts: everything is drawn inside them, and what is drawn can be read off."""

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.analysis.scoring import Estimate
from nmtkit.commands.report_charts import SIZES, Axes, Column, distributions, legend, points
from nmtkit.commands.report_figures import BOTTOM, HEIGHT, LEFT, WIDTH

AXES = Axes("BLEU by length", "lines")
COLUMNS = [Column("1–5", 40, doubtful=False), Column("6–10", 300, doubtful=False), Column("11+", 2, doubtful=True)]
ROWS = [
    [Estimate(30.0, 25.0, 35.0), Estimate(41.25, 40.0, 42.5), Estimate(90.0, 0.0, 100.0)],
    [Estimate(20.0, 20.0, 20.0), Estimate(21.0, 20.5, 22.0), Estimate(22.0, 22.0, 22.0)],
]
VALUES = st.floats(-120, 120).flatmap(
    lambda value: st.tuples(st.just(value), st.floats(-130, value), st.floats(value, 130))
)


def drawn(markup):
    return ElementTree.fromstring(markup)


def test_each_point_says_what_it_stands_for():
    chart = drawn(points(COLUMNS, ROWS, ["one", "two"], AXES))
    titles = [title.text for path in chart.iter("path") for title in path]
    assert titles == [
        "one, 1–5: 30.0 (25.0 to 35.0; 40 lines)",
        "one, 6–10: 41.2 (40.0 to 42.5; 300 lines)",
        "one, 11+: 90.0 (2 lines, too few to rely on)",
        "two, 1–5: 20.0 (40 lines)",
        "two, 6–10: 21.0 (20.5 to 22.0; 300 lines)",
        "two, 11+: 22.0 (2 lines, too few to rely on)",
    ]
    assert [path.get("class") for path in chart.iter("path")] == ["s0", "s0", "s0 hollow", "s1", "s1", "s1 hollow"]


def test_only_what_can_be_relied_on_has_intervals_and_is_joined():
    chart = drawn(points(COLUMNS, ROWS, ["one", "two"], AXES))
    assert len([line for line in chart.iter("line") if line.get("class") != "grid"]) == 3
    assert [len(line.get("points", "").split()) for line in chart.iter("polyline")] == [2, 2]
    apart = drawn(points(COLUMNS, ROWS, ["one", "two"], AXES._replace(ordered=False)))
    assert list(apart.iter("polyline")) == []


def test_columns_say_how_many_they_stand_for():
    chart = drawn(points(COLUMNS, ROWS, ["one", "two"], AXES))
    bars = [(bar.get("class"), float(bar.get("height", ""))) for bar in chart.iter("rect")]
    assert [kind for kind, _ in bars] == ["size", "size", "size few"]
    assert bars[0][1] / bars[1][1] == pytest.approx(40 / 300, abs=0.01)
    texts = [text.text for text in chart.iter("text")]
    assert {"1–5", "40", "6–10", "300", "11+", "2", "lines"} <= set(texts)


def test_long_labels_are_cut_and_told_in_full():
    columns = [Column(f"a label that is long, number {number}", 50, doubtful=False) for number in range(8)]
    row = [Estimate(float(number), float(number), float(number)) for number in range(8)]
    chart = drawn(points(columns, [row], ["one"], AXES))
    assert "a label …" in [text.text for text in chart.iter("text")]
    assert "one, a label that is long, number 7: 7.0 (50 lines)" in [title.text for title in chart.iter("title")]


@settings(max_examples=40)
@given(
    st.lists(st.lists(VALUES, min_size=3, max_size=3), min_size=1, max_size=5),
    st.lists(st.booleans(), min_size=3, max_size=3),
)
def test_any_values_are_drawn_inside(values, doubtful):
    columns = [Column(str(place), 10**place, doubtful=each) for place, each in enumerate(doubtful)]
    rows = [[Estimate(*value) for value in row] for row in values]
    chart = drawn(points(columns, rows, [str(place) for place in range(len(rows))], AXES))
    for path in chart.iter("path"):
        x, y = map(float, path.attrib["transform"].removeprefix("translate(").removesuffix(")").split())
        assert LEFT <= x <= WIDTH
        assert 0 <= y <= HEIGHT - BOTTOM + 0.05
    for line in chart.iter("line"):
        assert all(0 <= float(line.attrib[end]) <= HEIGHT - BOTTOM + 0.05 for end in ("y1", "y2"))
    for bar in chart.iter("rect"):
        assert HEIGHT < float(bar.attrib["y"]) + float(bar.attrib["height"]) <= HEIGHT + SIZES


def test_distributions_lie_over_one_another():
    chart = drawn(distributions([[0, 5, 20], [10, 10, 0]], ["0", "", "2", "3"], "lines by score", "score"))
    assert [path.get("class") for path in chart.iter("path")] == ["s0", "s1"]
    ticks = [text for text in chart.iter("text") if text.text in ("0", "2", "3", "score")]
    assert [(tick.text, tick.get("class")) for tick in ticks][-2:] == [("3", "tick end"), ("score", "tick end")]


def test_systems_differ_in_colour_and_shape():
    markup = legend([f"<b>{number}" for number in range(12)])
    marks = [(path.get("class"), path.get("d")) for path in drawn(markup).iter("path")]
    assert len(set(marks)) == 12
    assert "<b>3" in "".join(drawn(markup).itertext())

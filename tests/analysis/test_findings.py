"""Findings: everything about the systems of a test set, counted over all lines."""

from toy.reports import scored

from nmtkit.analysis.faults import KINDS
from nmtkit.analysis.findings import Frequencies, System, examine
from nmtkit.analysis.texts import Texts
from nmtkit.metrics.bleu import BleuConfig

SOURCES = ["a dog .", "a black cat sleeps .", "nothing", ""]
REFERENCES = ["ein Hund .", "eine schwarze Katze schläft .", "nichts", ""]
SYSTEMS = [
    ["ein Hund .", "eine Katze .", "", ""],
    ["ein Hund . ein Hund .", "eine schwarze Katze schläft .", "gar nichts", ""],
]


def findings(sources=SOURCES, **more):
    texts = Texts(sources, [REFERENCES], SYSTEMS, source_language="en", target_language="de")
    scores = scored(BleuConfig().build("de"), SYSTEMS, REFERENCES)
    systems = [System("one", [100.0, 40.0, 0.0, 100.0]), System("two", [60.0, 100.0, 80.0, 100.0])]
    return examine(texts, systems, scores, "chrF2", **more)


def test_every_line_is_counted_once_by_each_system():
    found = findings(labels=["x", "y", "", "x"])
    for counts in (*found.ratios, *found.points):
        assert sum(counts) == len(SOURCES)
    for grouping, lines in ((found.lengths, 4), (found.labels, 3)):
        assert sum(len(group.lines) for group in grouping.groups) == lines
        assert [len(some) for some in grouping.estimates] == [len(grouping.groups)] * 2
    assert [len(some) for some in found.faults] == [4, 4]
    assert found.points[0] == [1, *[0] * 7, 1, *[0] * 10, 2]


def test_length_ratios_stand_in_their_bins():
    found = findings()
    assert found.ratios[0][0] == 1  # the blank one
    assert found.ratios[1][20] == 1  # twice as long
    assert found.ratios[0][10] == 2  # as long, and blank as the reference


def test_faults_are_counted_by_kind_and_system():
    found = findings()
    assert [found.with_fault("blank", place) for place in found.places] == [[2], []]
    assert [found.with_fault("repeats", place) for place in found.places] == [[], [0]]
    counts = [len(found.with_fault(kind.key, place)) for kind in KINDS for place in found.places]
    assert sum(counts) == sum(len(some) for system in found.faults for some in system)


def test_frequencies_are_those_of_training_where_they_are_known():
    counts = {"a": 5_000, "dog": 20, "black": 3}
    found = findings(frequencies=Frequencies(counts, {"ein": 900}, "some pairs"))
    assert found.trained == "some pairs"
    assert [(group.label, group.lines) for group in found.rarest.groups] == [("0", [1, 2]), ("10–99", [0])]
    assert [class_.label for class_, _ in found.classes[0]] == ["0", "100–999"]
    own = findings()
    assert own.trained == ""
    assert [(group.label, group.lines) for group in own.rarest.groups] == [("1", [0, 1, 2])]


def test_without_sources_references_are_measured():
    found = findings(sources=[])
    assert found.rarest.groups == found.labels.groups == []
    assert sum(len(group.lines) for group in found.lengths.groups) == 4
    assert found.texts.source_of(0) is None

"""Findings: all that is computed about the translations of a test set, before any of it is drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nmtkit.analysis.faults import Fault, faults, ratio
from nmtkit.analysis.groups import Class, Group, by_label, by_length, by_rarest_word, count_words
from nmtkit.analysis.rankings import Comparison, comparisons, furthest_apart, worst
from nmtkit.analysis.recall import Found, Often, by_class, matches, missed, put_in
from nmtkit.analysis.scoring import Estimate, Scored, estimates
from nmtkit.analysis.texts import Line, Texts

RATIOS = 20
"""Bins of length ratios, a tenth wide, up to twice the length; one more holds what is longer."""
POINTS = 20
"""Bins of scores of lines, five points wide."""


class Frequencies(NamedTuple):
    """How often words stand in training text, by their lower case.

    Where there is none at hand, `text` is empty and the words are counted in the test set itself.
    """

    source: Mapping[str, int]
    target: Mapping[str, int]
    text: str


class System(NamedTuple):
    """A system by its name, and the score of each of its lines."""

    name: str
    lines: list[float]


class Grouping(NamedTuple):
    """Lines in groups, and the score of each system (first index) in each group (second)."""

    groups: list[Group]
    estimates: list[list[Estimate]]


@dataclass(frozen=True)
class Findings:
    """What was found; the first index of lists is the system."""

    texts: Texts
    systems: list[System]
    scores: Scored
    """What groups are scored by."""
    metric: str
    """What lines are scored by."""
    lengths: Grouping
    rarest: Grouping
    """By the rarest word of the source; without groups where sources are not known, or have no words."""
    labels: Grouping
    trained: str
    """The training text that words were counted in; empty where it was the test set."""
    classes: list[list[tuple[Class, Found]]]
    missed: list[list[Often]]
    put_in: list[list[Often]]
    ratios: list[list[int]]
    """Lines by their length as a share of the reference's, in bins."""
    points: list[list[int]]
    """Lines by their score, in bins."""
    faults: list[list[list[Fault]]]
    worst: list[list[int]]
    apart: list[int]
    comparisons: list[Comparison]

    def with_fault(self, kind: str, system: int) -> list[int]:
        """Return the lines of a system that have a fault."""
        return [line for line, some in enumerate(self.faults[system]) if any(fault.kind == kind for fault in some)]

    @property
    def places(self) -> range:
        """The places of the systems."""
        return range(len(self.systems))


def examine(
    texts: Texts,
    systems: Sequence[System],
    scores: Scored,
    metric: str,
    *,
    frequencies: Frequencies | None = None,
    labels: Sequence[str] = (),
) -> Findings:
    """Return what there is to say about translations; `systems` are those of `texts`, in order.

    `scores` are for groups of lines, `metric` names those of single lines, of which higher ones are better. Without
    frequencies of training text those in the test set take their place.
    """
    places = range(len(systems))
    counts = frequencies or Frequencies(_counted([texts.sources]), _counted(texts.references), "")

    def judged(groups: list[Group]) -> Grouping:
        found = [estimates(scores, group.lines) for group in groups]
        return Grouping(groups, [[some[place] for some in found] for place in places])

    lines = [system.lines for system in systems]
    words = [matches(texts, place) for place in places]
    return Findings(
        texts,
        list(systems),
        scores,
        metric,
        lengths=judged(by_length(texts.measured)),
        rarest=judged(by_rarest_word(texts.sources, counts.source)),
        labels=judged(by_label(labels)),
        trained=counts.text,
        classes=[by_class(some, counts.target) for some in words],
        missed=[missed(some, texts) for some in words],
        put_in=[put_in(some, texts, place) for place, some in enumerate(words)],
        ratios=[_ratios(texts, place) for place in places],
        points=[_points(some) for some in lines],
        faults=[faults(texts, place) for place in places],
        worst=[worst(texts, some, place) for place, some in enumerate(lines)],
        apart=furthest_apart(lines) if len(systems) > 1 else [],
        comparisons=comparisons(texts, lines),
    )


def _counted(sides: Sequence[Sequence[Line]]) -> Mapping[str, int]:
    return count_words(line.text for lines in sides for line in lines)


def _ratios(texts: Texts, system: int) -> list[int]:
    counts = [0] * (RATIOS + 1)
    for line, ours in enumerate(texts.systems[system]):
        share = ratio(ours, texts.references_of(line))
        # by rounded numbers: 0.3 / 0.1 is a little less than 3
        counts[RATIOS if share >= 2 else int(round(share * 10, 6))] += 1
    return counts


def _points(scores: Sequence[float]) -> list[int]:
    counts = [0] * POINTS
    for score in scores:
        counts[min(POINTS - 1, max(0, int(score * POINTS / 100)))] += 1
    return counts

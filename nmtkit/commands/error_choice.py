"""Which lines are on an error report, and in which order: all of a small test set, else those worth a look."""

from collections.abc import Iterator
from typing import NamedTuple

from nmtkit.analysis.faults import KINDS
from nmtkit.analysis.findings import Findings

EXAMPLES, EXAMPLES_OF_ALL = 10, 30
"""Lines with a fault of a kind that are shown of a system, at most, and about so many of all systems together."""
LONGEST = 1_200
"""Characters of a sentence that are shown and compared; the rest is counted."""
LARGEST = 5_000_000
"""Characters of markup, about, up to which a page has all lines: a browser shows it within a second."""
OF_LINE, OF_ROW, OF_CHARACTER = 300, 180, 1.5
"""Characters of markup that a line, each of its rows and each character of its text come to, about."""


class Part(NamedTuple):
    """Lines under one title. Those that another part before it has as well are shown there only."""

    key: str
    title: str
    lines: list[int]


class Choice(NamedTuple):
    """The parts of a page, each with the lines that it shows, and how many lines of the test set are on none."""

    parts: list[Part]
    left_out: int


def choose(findings: Findings, *, every_line: bool = False) -> Choice:
    """Return the lines to show; with `every_line` none is left out, however large the page becomes."""
    seen: set[int] = set()
    parts = []
    for part in lists(findings):
        fresh = [line for line in part.lines if line not in seen]
        seen.update(fresh)
        parts.append(part._replace(lines=fresh))
    faulty = [line for line in _examples(findings) if line not in seen]
    seen.update(faulty)
    parts.append(Part("faults", "With faults", sorted(faulty)))
    rest = [line for line in range(len(findings.texts)) if line not in seen]
    if every_line or _size(findings) <= LARGEST:
        return Choice([*parts, Part("rest", "All others", rest)], 0)
    return Choice(parts, len(rest))


def lists(findings: Findings) -> Iterator[Part]:
    """Yield the rankings of lines: the worst of each system, and those where systems are furthest apart."""
    for place, system in enumerate(findings.systems):
        yield Part(f"worst-{place}", f"The worst of {system.name}", findings.worst[place])
    if len(findings.systems) > 1:
        yield Part("apart", "Where systems differ most", findings.apart)


def examples_each(findings: Findings) -> int:
    """Return how many lines with a fault of a kind are shown of each system, at most."""
    return max(1, min(EXAMPLES, EXAMPLES_OF_ALL // len(findings.systems)))


def _examples(findings: Findings) -> set[int]:
    """Return lines to show the faults by, the first of each kind and system."""
    most = examples_each(findings)
    return {line for kind in KINDS for place in findings.places for line in findings.with_fault(kind.key, place)[:most]}


def _size(findings: Findings) -> float:
    """Return the characters that the markup of all lines would come to, about."""
    texts = findings.texts
    sides = [lines for lines in (texts.sources, *texts.references, *texts.systems) if lines]
    characters = sum(min(len(line.text), LONGEST) for lines in sides for line in lines)
    return len(texts) * (OF_LINE + len(sides) * OF_ROW) + OF_CHARACTER * characters

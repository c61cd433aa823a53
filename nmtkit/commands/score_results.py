"""What `nmtkit score` finds of a test set: the scores of each system, how sure they are, and how they compare."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from nmtkit import __version__
from nmtkit.commands.score_material import Material
from nmtkit.metrics.base import Array, Metric, Score
from nmtkit.metrics.settings import SignificanceConfig
from nmtkit.metrics.significance import Comparison, Interval, Measured, resampled


@dataclass(frozen=True)
class Result:
    """A score, and what draws say of it: nothing where there were none."""

    score: Score
    interval: Interval | None = None
    comparison: Comparison | None = None
    """With the baseline; None of the baseline itself."""


@dataclass(frozen=True)
class Part:
    """The scores of those lines of a test set that carry one label."""

    label: str
    lines: int
    scores: list[Result]


@dataclass(frozen=True)
class SystemScores:
    """The scores of a system on a test set, by label where it has labels."""

    name: str
    hypotheses: str
    """The file of its translations."""
    blank: int
    """How many of them are blank."""
    scores: list[Result]
    parts: list[Part]


@dataclass(frozen=True)
class TestSet:
    """The scores of a test set, by system, the baseline first, and what they were computed from."""

    name: str
    lines: int
    source: str | None
    references: list[str]
    systems: list[SystemScores]
    tag: str = ""


class Evaluated(NamedTuple):
    """A test set with its scores, and what each line adds to them."""

    material: Material
    found: TestSet
    statistics: list[list[Array]]
    """(N, W) by metric, then by system."""


def evaluate(
    material: Material,
    metrics: Sequence[Metric],
    significance: SignificanceConfig,
    advance: Callable[[int], None] = lambda _: None,
) -> Evaluated:
    """Score every system of a test set by every metric, all lines and those of each label by themselves.

    `advance` is told of lines that a metric has read. Raises DataError where a metric fails.
    """
    statistics: list[list[Array]] = []
    for metric in metrics:
        statistics.append([])
        for system in material.systems:
            rows = metric.measure(system.hypotheses, *material.references, sources=material.sources)
            statistics[-1].append(rows)
            advance(len(rows))
    count = len(material.references)
    everything = _results(metrics, statistics, count, significance)
    parts: list[list[Part]] = [[] for _ in material.systems]
    for label in sorted(set(material.labels) - {""}):
        lines = [line for line, each in enumerate(material.labels) if each == label]
        chosen = [[rows[lines] for rows in by_system] for by_system in statistics]
        for own, results in zip(parts, _results(metrics, chosen, count, significance), strict=True):
            own.append(Part(label, len(lines), results))
    systems = [
        SystemScores(system.name, system.file, sum(not line.strip() for line in system.hypotheses), scores, own)
        for system, scores, own in zip(material.systems, everything, parts, strict=True)
    ]
    references = list(material.reference_files)
    found = TestSet(material.name, len(material), material.source_file, references, systems, material.tag)
    return Evaluated(material, found, statistics)


def _results(
    metrics: Sequence[Metric], statistics: Sequence[Sequence[Array]], references: int, significance: SignificanceConfig
) -> list[list[Result]]:
    """Return the results of each system, by metric."""
    scores = [
        [metric.score(rows, references) for rows in by_system]
        for metric, by_system in zip(metrics, statistics, strict=True)
    ]
    if not significance.draws:
        return [[Result(score) for score in own] for own in zip(*scores, strict=True)]
    measured = [Measured(rows, metric.values) for metric, rows in zip(metrics, statistics, strict=True)]
    found = resampled(measured, **significance.model_dump())
    by_metric = [
        [
            Result(score, interval, comparison)
            for score, interval, comparison in zip(own, each.intervals, [None, *each.comparisons], strict=True)
        ]
        for own, each in zip(scores, found, strict=True)
    ]
    return [list(own) for own in zip(*by_metric, strict=True)]


def drawing(significance: SignificanceConfig, *, compared: bool) -> str:
    """Return the signature of what was drawn, which says what intervals and p-values depend on; empty without draws."""
    draws, seed, level = significance.draws, significance.seed, significance.confidence
    if not draws:
        return ""
    return f"bs:{draws}{f'|ar:{draws}' if compared else ''}|seed:{seed}|level:{level:g}|nmtkit:{__version__}"


def plain(found: Any) -> Any:
    """Return what was found as JSON has it: of a score, its parts, its interval and its comparison side by side."""
    if isinstance(found, Result):
        more = found.interval._asdict() if found.interval else {}
        more |= found.comparison._asdict() if found.comparison else {}
        return {**found.score._asdict(), **more}
    if isinstance(found, list):
        return [plain(each) for each in found]
    if isinstance(found, TestSet | SystemScores | Part):
        return {key: plain(value) for key, value in vars(found).items()}
    return found

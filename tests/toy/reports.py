"""Error reports of made-up translations, made as `nmtkit score --report` makes them."""

from collections.abc import Mapping, Sequence

from nmtkit.analysis.findings import Frequencies
from nmtkit.analysis.scoring import Scored
from nmtkit.commands.error_page import Report
from nmtkit.commands.error_report import report_of
from nmtkit.commands.score_material import Material, System
from nmtkit.commands.score_results import drawing, evaluate
from nmtkit.corpus.settings import LanguagesConfig
from nmtkit.metrics.base import Metric
from nmtkit.metrics.bleu import BleuConfig
from nmtkit.metrics.chrf import ChrfConfig
from nmtkit.metrics.settings import ScoreConfig, SignificanceConfig, build_metrics
from nmtkit.metrics.significance import Measured

CONFIG = ScoreConfig(metrics=(BleuConfig(), ChrfConfig()), significance=SignificanceConfig(draws=20))


def scored(metric: Metric, systems: Sequence[Sequence[str]], references: Sequence[str]) -> Scored:
    """Return what the lines of each system add to the scores of a metric."""
    statistics = [metric.measure(lines, references) for lines in systems]
    signature = metric.score(statistics[0], 1).signature
    return Scored(metric.name, signature, metric.higher_is_better, Measured(statistics, metric.values))


def report(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[Sequence[str]],
    sources: Sequence[str] | None = None,
    *,
    name: str = "toy",
    labels: Sequence[str] = (),
    languages: tuple[str, str] = ("en", "de"),
    frequencies: Frequencies | None = None,
) -> Report:
    """Return the report of some systems by their names."""
    material = Material(
        name,
        None if sources is None else list(sources),
        [list(lines) for lines in references],
        [System(name, list(lines), f"{name}.txt") for name, lines in systems.items()],
        list(labels),
        None if sources is None else "test.en",
        tuple(f"test.{number}.de" for number, _ in enumerate(references)),
    )
    metrics = build_metrics(CONFIG, languages[1]).metrics
    found = evaluate(material, metrics, CONFIG.significance)
    drawn = drawing(CONFIG.significance, compared=len(systems) > 1)
    return report_of(found, metrics, LanguagesConfig(source=languages[0], target=languages[1]), frequencies, drawn)

"""Error reports of made-up translations, made as `nmtkit score --report` makes them."""

from collections.abc import Mapping, Sequence

from nmtkit.analysis.findings import Frequencies
from nmtkit.commands.error_page import Report
from nmtkit.commands.error_report import Languages, report_of
from nmtkit.commands.score_material import Material, System
from nmtkit.commands.score_reading import Files, TestMaterial
from nmtkit.commands.score_results import drawing, evaluate
from nmtkit.metrics.bleu import BleuConfig
from nmtkit.metrics.chrf import ChrfConfig
from nmtkit.metrics.settings import ScoreConfig, SignificanceConfig, build_metrics

CONFIG = ScoreConfig(metrics=(BleuConfig(), ChrfConfig()), significance=SignificanceConfig(draws=20))


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
        [System(name, list(lines)) for name, lines in systems.items()],
        list(labels),
    )
    files = Files(
        None if sources is None else "test.en",
        [f"test.{number}.de" for number, _ in enumerate(references)],
        [f"{name}.txt" for name in systems],
    )
    metrics = build_metrics(CONFIG, languages[1]).metrics
    found = evaluate(TestMaterial(material, files), metrics, CONFIG.significance)
    drawn = drawing(CONFIG.significance, compared=len(systems) > 1)
    return report_of(found, metrics, Languages(*languages), frequencies, drawn)

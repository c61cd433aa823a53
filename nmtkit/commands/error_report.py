"""`nmtkit score --report`: a page for each test set that shows where its translations fail, and how."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmtkit.analysis.findings import Frequencies, System, examine
from nmtkit.analysis.scoring import Scored
from nmtkit.analysis.texts import Texts
from nmtkit.commands.error_page import Report, page
from nmtkit.commands.error_training import training_frequencies
from nmtkit.commands.score_reading import SET
from nmtkit.commands.score_records import lines_digest
from nmtkit.commands.score_results import Evaluated, drawing
from nmtkit.corpus.settings import LanguagesConfig
from nmtkit.errors import ConfigError
from nmtkit.log import Log
from nmtkit.metrics.base import Array, Metric
from nmtkit.metrics.chrf import ChrfConfig
from nmtkit.metrics.settings import SignificanceConfig
from nmtkit.metrics.significance import Measured
from nmtkit.run_folder import RunFolder, as_file_name, check_place, write_text


@dataclass(frozen=True)
class ReportWish:
    """The report that a person wants: its file, and whether it shall have every line, however large it becomes.

    `run` is a run folder whose training text tells how often words were seen, if it is prepared.
    """

    file: Path
    every_line: bool
    run: RunFolder
    languages: LanguagesConfig

    def file_of(self, test_set: str, *, several: bool) -> Path:
        """Return the file of a test set: of several each has its own."""
        name = as_file_name(test_set)
        if SET in str(self.file):
            return Path(str(self.file).replace(SET, name))
        return self.file.with_name(f"{self.file.stem}.{name}{self.file.suffix}") if several else self.file

    def files(self, test_set: str) -> list[Path]:
        """Return the files that the page of a test set may have, whether it is alone or one of several."""
        return [self.file_of(test_set, several=several) for several in (False, True)]


def wished(file: Path | None, every_line: bool, run: RunFolder, languages: LanguagesConfig) -> ReportWish | None:
    """Return the report that options ask for, if they ask for one.

    Raises ConfigError, before there is anything to write, where there could be no such file, or none is named.
    """
    if file is None:
        if every_line:
            raise ConfigError("--report-all: goes with --report FILE, the page that shall have all lines")
        return None
    check_place("--report", file)
    return ReportWish(file, every_line, run, languages)


def write_reports(
    wish: ReportWish,
    evaluated: Sequence[Evaluated],
    metrics: Sequence[Metric],
    significance: SignificanceConfig,
    log: Log,
) -> None:
    """Write a page for each test set.

    Of several test sets each has its own file, with the name of the set in place of {set}, else before the suffix.
    Raises DataError where a file cannot be written.
    """
    frequencies = training_frequencies(wish.run, log)
    for each in evaluated:
        drawn = drawing(significance, compared=len(each.found.systems) > 1)
        report = report_of(each, metrics, wish.languages, frequencies, drawn)
        file = wish.file_of(each.found.name, several=len(evaluated) > 1)
        write_text(file, page(report, every_line=wish.every_line))
        log.info(f"report: {file}")


def report_of(
    evaluated: Evaluated,
    metrics: Sequence[Metric],
    languages: LanguagesConfig,
    frequencies: Frequencies | None = None,
    drawn: str = "",
) -> Report:
    """Return what the page of a test set shows. Groups of lines are scored by the first metric, lines by chrF.

    `drawn` is the signature of what was drawn for the intervals of scores.
    """
    material = evaluated.material
    systems = [system.hypotheses for system in material.systems]
    texts = Texts(
        material.sources or [],
        material.references,
        systems,
        source_language=languages.source,
        target_language=languages.target,
    )
    first = evaluated.found.systems[0].scores[0].score
    groups = Scored(
        first.name,
        first.signature,
        metrics[0].higher_is_better,
        Measured(evaluated.statistics[0], metrics[0].values),
    )
    by_line = ChrfConfig().build(languages.target)
    statistics = _chrf(by_line, evaluated, metrics)
    scored = [
        System(system.name, by_line.sentence_values(rows).tolist())
        for system, rows in zip(material.systems, statistics, strict=True)
    ]
    signature = by_line.score(statistics[0], len(material.references)).signature
    findings = examine(texts, scored, groups, by_line.name, frequencies=frequencies, labels=material.labels)
    return Report(evaluated.found, findings, by_line.sentence_signature(signature), drawn, list(_made_from(evaluated)))


def _chrf(by_line: Metric, evaluated: Evaluated, metrics: Sequence[Metric]) -> Sequence[Array]:
    """Return what each line of each system adds to chrF, which is often known already."""
    material = evaluated.material
    known = [result.score.signature for result in evaluated.found.systems[0].scores]
    for place, metric in enumerate(metrics):
        rows = evaluated.statistics[place]
        if metric.name == by_line.name and by_line.score(rows[0], len(material.references)).signature == known[place]:
            return rows
    return [by_line.measure(system.hypotheses, *material.references) for system in material.systems]


def _made_from(evaluated: Evaluated) -> Iterator[tuple[str, str, str]]:
    """Yield each text that was read: what it is, its file, and the SHA-256 of its lines."""
    material, found = evaluated.material, evaluated.found
    if material.sources is not None:
        yield "source", found.source or "", lines_digest(material.sources)
    for place, (file, lines) in enumerate(zip(found.references, material.references, strict=True), start=1):
        yield "reference" if len(found.references) == 1 else f"reference {place}", file, lines_digest(lines)
    for system, scores in zip(material.systems, found.systems, strict=True):
        yield system.name, scores.hypotheses, lines_digest(system.hypotheses)

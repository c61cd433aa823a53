"""The forms of what `nmtkit score` found: tables, tab-separated lines, JSON; and the scores of single lines."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nmtkit.commands.error_report import ReportWish
from nmtkit.commands.score_material import Material
from nmtkit.commands.score_results import Evaluated, Result, TestSet, drawing, plain
from nmtkit.commands.score_tables import Scores, latex, markdown, print_tables
from nmtkit.corpus.lines import clean
from nmtkit.errors import ConfigError
from nmtkit.metrics.base import Metric
from nmtkit.metrics.settings import SignificanceConfig
from nmtkit.run_folder import write_text

Form = Literal["auto", "table", "tsv", "json", "markdown", "latex"]
"""`auto` is a table on a terminal, else tab-separated."""

COLUMNS = ("set", "label", "system", "metric", "score", "low", "high", "p_bootstrap", "p_randomization", "signature")


@dataclass(frozen=True)
class Output:
    """What a person wants to have written: the form of the scores on stdout, and files beside."""

    form: Form = "auto"
    per_sentence: Path | None = None
    report: ReportWish | None = None

    def check_apart(self, test: Material) -> None:
        """Raise ConfigError where a file that would be written is one that was read, or another that would be."""
        reports = self.report.files(test.name) if self.report else []
        written = [("--report", file) for file in reports]
        if self.per_sentence is not None:
            if self.per_sentence.resolve() in [file.resolve() for file in reports]:
                raise ConfigError(f"--per-sentence and --report: {self.per_sentence} cannot be both; name two files")
            written.append(("--per-sentence", self.per_sentence))
        for option, file in written:
            for other in (*test.files, *(Path(system.file) for system in test.systems if system.file)):
                if file.is_file() and other.is_file() and file.samefile(other):
                    raise ConfigError(f"{option} {file}: this file is scored, and would be lost; name another one")


def show(test_sets: Sequence[TestSet], origin: dict[str, Any], significance: SignificanceConfig, form: Form) -> None:
    """Write the scores to stdout; `origin` says what made them."""
    drawn = drawing(significance, compared=len(test_sets[0].systems) > 1)
    checkpoint = origin.get("checkpoint")
    scores = Scores(test_sets, drawn, f"scores of checkpoint {checkpoint}" if checkpoint else "")
    if form == "json":
        draws = {**significance.model_dump(), "signature": drawn}
        content = {**origin, "significance": draws, "sets": plain(list(test_sets))}
        sys.stdout.write(json.dumps(content, ensure_ascii=False, indent=2) + "\n")
    elif form == "markdown":
        sys.stdout.write(markdown(scores))
    elif form == "latex":
        sys.stdout.write(latex(scores))
    elif form == "table" or (form == "auto" and sys.stdout.isatty()):
        print_tables(scores)
    else:
        sys.stdout.writelines("\t".join(row) + "\n" for row in [COLUMNS, *_rows(test_sets, drawn)])
    sys.stdout.flush()


def _rows(test_sets: Sequence[TestSet], drawn: str) -> Iterator[list[str]]:
    for test_set in test_sets:
        for system in test_set.systems:
            for label, results in [("", system.scores), *((part.label, part.scores) for part in system.parts)]:
                names = [clean(name) for name in (test_set.name, label, system.name)]
                yield from ([*names, *_fields(result, drawn)] for result in results)


def _fields(result: Result, drawn: str) -> list[str]:
    score, interval, comparison = result.score, result.interval, result.comparison
    return [
        score.name,
        f"{score.value:.2f}",
        *([f"{interval.low:.2f}", f"{interval.high:.2f}"] if interval else ["", ""]),
        *([f"{p:.4f}" for p in comparison[1:]] if comparison else ["", ""]),
        "|".join(filter(None, [score.signature, drawn])),
    ]


def write_sentences(file: Path, evaluated: Sequence[Evaluated], metrics: Sequence[Metric]) -> None:
    """Write the scores of each line by itself, a row a line and system, a column a metric, named with its signature."""
    rows = [["set", "line", "system", *_signed(evaluated, metrics)]]
    for each in evaluated:
        for place, system in enumerate(each.found.systems):
            values = [
                metric.sentence_values(by_system[place])
                for metric, by_system in zip(metrics, each.statistics, strict=True)
            ]
            names = clean(each.found.name), clean(system.name)
            for line, scores in enumerate(zip(*values, strict=True), start=1):
                rows.append([names[0], str(line), names[1], *(f"{score:.4f}" for score in scores)])
    write_text(file, "".join("\t".join(row) + "\n" for row in rows))


def _signed(evaluated: Sequence[Evaluated], metrics: Sequence[Metric]) -> list[str]:
    """Return the name and signature of each metric; where test sets differ in references, with all their numbers."""
    names = []
    for place, metric in enumerate(metrics):
        parts: dict[str, list[str]] = {}
        for each in evaluated:
            signature = metric.sentence_signature(each.found.systems[0].scores[place].score.signature)
            for name, _, value in (part.partition(":") for part in signature.split("|")):
                parts.setdefault(name, []).append(value)
        joined = (f"{name}:{','.join(dict.fromkeys(values))}" for name, values in parts.items())
        names.append("|".join([metric.name, *joined]))
    return names

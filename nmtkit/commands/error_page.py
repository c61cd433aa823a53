"""The error report as one page: what systems scored on a test set, where they fail, and the lines to see it in."""

from collections.abc import Iterator
from dataclasses import dataclass

import nmtkit
from nmtkit.analysis.findings import Findings
from nmtkit.analysis.scoring import CONFIDENCE, DRAWS, SEED
from nmtkit.commands.error_form import lines_section
from nmtkit.commands.error_script import SCRIPT
from nmtkit.commands.error_sections import faults_section, groups_section, lengths_section, names, words_section
from nmtkit.commands.error_style import STYLE
from nmtkit.commands.report_markup import document, plainly, table, visible
from nmtkit.commands.score_results import TestSet
from nmtkit.commands.score_tables import Cell, Grid, Scores
from nmtkit.corpus.lines import clean
from nmtkit.log import counted

LARGE = 3
"""Scores of a system that stand in large above the page; of several systems, the first one of each."""


@dataclass(frozen=True)
class Report:
    """What a page shows: the scores of a test set, what was found in its lines, and what it was made from."""

    scores: TestSet
    findings: Findings
    line_signature: str
    drawing: str
    """The signature of what was drawn for the intervals of scores."""
    made_from: list[tuple[str, str, str]]
    """Each text that was read: what it is, its file, the digest of its lines."""


def page(report: Report, *, every_line: bool = False) -> str:
    """Return the page, well-formed as HTML and as XML; the same report gives the same page.

    With `every_line` all lines are on it, however large it becomes.
    """
    findings = report.findings
    texts = findings.texts
    sections = {
        "scores": ("Scores", _scores(report)),
        "faults": ("Faults", faults_section(findings)),
        "groups": ("Where the score comes from", groups_section(findings)),
        "lengths": ("Lengths and scores of lines", lengths_section(findings)),
        "words": ("Words", words_section(findings)),
        "lines": ("Lines", lines_section(findings, every_line=every_line)),
        "made": ("How this was made", _made(report)),
    }
    languages = f"{visible(texts.source_language)} → {visible(texts.target_language)}, "
    known = languages if texts.target_language != "und" else ""
    systems = len(findings.systems)
    beneath = f"{known}{counted(len(texts), 'line')}, {counted(systems, 'system')}; nmtkit {nmtkit.__version__}"
    title = f"Error report, {plainly(report.scores.name)}"
    return document(title, beneath, _cards(report), sections, style=STYLE, script=SCRIPT)


def _cards(report: Report) -> Iterator[tuple[str, str]]:
    findings = report.findings
    several = len(findings.systems) > 1
    for name, system in zip(names(findings), report.scores.systems, strict=True):
        for result in system.scores[: 1 if several else LARGE]:
            yield f"{result.score.value:.2f}", f"{visible(result.score.name)} of {name}"
    faulty = " · ".join(f"{sum(map(bool, some)):,}" for some in findings.faults)
    yield faulty, f"of {counted(len(findings.texts), 'line')} with faults"
    if len(findings.systems) == 2:
        yield f"{findings.comparisons[0].same:,}", "lines with the same translation"


def _scores(report: Report) -> str:
    """Return the tables that the command shows, with what is said below them, and systems compared line by line."""
    scores = Scores([report.scores], report.drawing)
    badges = {
        clean(system.name): name for system, name in zip(report.scores.systems, names(report.findings), strict=True)
    }
    grids = "".join(_grid(grid, badges) for grid in scores.grids())
    signed = "".join(f'<p class="hash soft">{visible(f"{what} {how}")}</p>\n' for what, how in scores.signatures())
    legend = f"<p>{visible(scores.legend())}</p>\n" if scores.legend() else ""
    return f"{grids}{legend}{signed}{_comparisons(report.findings)}"


def _grid(grid: Grid, badges: dict[str, str]) -> str:
    """Return a table of scores; a system stands there with its point."""
    system = grid.head.index("system") if "system" in grid.head else -1

    def cell(place: int, each: Cell) -> str:
        text = visible(each.marked)
        more = f"<small>{visible(each.joint + each.more)}</small>" if each.more else ""
        if place < grid.words:
            return badges.get(each.text, text) if place == system else f"{text}{more}"
        return f'<span class="value">{text}</span>{more}'

    rows = [[cell(place, each) for place, each in enumerate(row)] for row in grid.rows if row is not None]
    title = f"<h3>{visible(grid.title)}</h3>\n" if grid.title else ""
    return title + table([visible(head) for head in grid.head], rows, text=grid.words)


def _comparisons(findings: Findings) -> str:
    """Return how often one of two systems does better on a line."""
    if not findings.comparisons:
        return ""
    systems = list(names(findings))
    rows = [
        [
            f"{systems[pair.first]} and {systems[pair.second]}",
            *(f"{count:,}" for count in (pair.first_higher, pair.second_higher, pair.equal, pair.same)),
        ]
        for pair in findings.comparisons
    ]
    head = [f"lines, by {visible(findings.metric)}", "first higher", "second higher", "equal", "same translation"]
    return f"<h3>Line by line</h3>\n{table(head, rows)}"


def _made(report: Report) -> str:
    findings = report.findings
    metric, score = visible(findings.metric), findings.scores
    read = [
        [visible(what), visible(file), f'<span class="hash">{digest}</span>'] for what, file, digest in report.made_from
    ]
    signed = [
        [f"{metric} of lines", f'<span class="hash">{visible(report.line_signature)}</span>'],
        [f"{visible(score.name)} of groups", f'<span class="hash">{visible(score.signature)}</span>'],
    ]
    counted = findings.trained or "this test set itself, as there is no prepared run at hand (--run)"
    return (
        f"{table(['', 'file', 'SHA-256 of the lines'], read, text=3)}{table([], signed, text=2)}"
        f"<p>Lines are ranked by {metric} (Popović 2015), as sacreBLEU computes it. Intervals of groups are of {DRAWS} "
        f"draws of their lines with replacement (Koehn 2004), seed {SEED}, at {CONFIDENCE:.0%}. Words are looked at by "
        f"class of frequency as in compare-mt (Neubig et al. 2019); frequencies are those in {visible(counted)}.</p>\n"
        "<p>Words and marks are aligned in order, equal words before words that begin or end alike; what is left on "
        "both sides has moved. Of several references, a translation is compared with the one that shares most words "
        "with it. Text of scripts without spaces is compared by characters.</p>\n"
    )

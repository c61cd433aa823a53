"""Parts of the error report in numbers: faults, scores of groups of lines, lengths, words."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from nmtkit.analysis.faults import KINDS
from nmtkit.analysis.findings import POINTS, RATIOS, Findings, Grouping
from nmtkit.analysis.recall import Found, Often
from nmtkit.analysis.scoring import ENOUGH, Estimate
from nmtkit.commands.error_choice import examples_each
from nmtkit.commands.report_charts import Axes, Column, badge, distributions, legend, points
from nmtkit.commands.report_markup import folded, name, plainly, table, visible, word

COLUMNS = 8
"""Labels that a chart has room for; of more there is a table."""


class Figure(NamedTuple):
    """A chart under a title (plain text), and its numbers as a table."""

    title: str
    chart: str
    numbers: str


def faults_section(findings: Findings) -> str:
    """Return how many lines of each system have each kind of fault, with links to the first of them."""
    systems, most = list(names(findings)), examples_each(findings)
    rows, first, absent = [], [], []
    for kind in KINDS:
        lines = [findings.with_fault(kind.key, place) for place in findings.places]
        if not any(lines):
            absent.append(f'<span title="{plainly(kind.meaning)}">{kind.title.lower()}</span>')
            continue
        counts = [_fault_link(kind.key, place, some) for place, some in enumerate(lines)]
        rows.append([f'{kind.title}<small class="meaning">{kind.meaning}</small>', *counts])
        first += [[kind.title, systems[place], _line_links(some, most)] for place, some in enumerate(lines) if some]
    affected = [f"{sum(map(bool, some)):,} of {len(some):,}" for some in findings.faults]
    rows.append(["Lines with any of these", *affected])
    folds = folded("The first lines of each", table(["", "system", "lines"], first, text=3)) if first else ""
    none = f'<p class="soft">Looked for and not found: {", ".join(absent)}.</p>\n' if absent else ""
    return (
        "<p>Signs that something is wrong, whatever the score. A program finds them: some are false alarms, and most "
        "mistakes of meaning are not among them. Counts are lines.</p>\n"
        f"{table(['', *systems], rows)}{none}{folds}"
    )


def _fault_link(kind: str, place: int, lines: Sequence[int]) -> str:
    if not lines:
        return '<span class="none">0</span>'
    return f'<a href="#line-{lines[0] + 1}" data-show="fault {kind}" data-of="{place}">{len(lines):,}</a>'


def _line_links(lines: Sequence[int], most: int) -> str:
    links = ", ".join(f'<a href="#line-{line + 1}">{line + 1}</a>' for line in lines[:most])
    return links + (f" and {len(lines) - most:,} more" if len(lines) > most else "")


def groups_section(findings: Findings) -> str:
    """Return the score of groups of lines: by length, by the rarest word of the source, by label."""
    metric = visible(findings.scores.name)
    better = "" if findings.scores.higher_is_better else " Lower is better."
    return (
        f"<p>{metric} of the lines of each group, as if they were a test set; bars reach over 95% of resampled ones. "
        f"Hollow points stand for fewer than {ENOUGH} lines, too few to rely on.{better}</p>\n"
        f"{_figures(findings, list(_groups(findings)))}"
    )


def _groups(findings: Findings) -> Iterator[Figure]:
    metric, unit = findings.scores.name, findings.texts.measured_unit
    side = "source" if findings.texts.sources else "reference"
    yield _grouped(findings, findings.lengths, f"{metric} by length of the {side} in {unit}")
    if findings.rarest.groups:
        where = findings.trained or "the sources of this test set"
        one = unit.removesuffix("s")
        yield _grouped(
            findings, findings.rarest, f"{metric} by times that the rarest {one} of the source is in {where}"
        )
    if findings.labels.groups:
        yield _grouped(findings, findings.labels, f"{metric} by label")


def _grouped(findings: Findings, grouping: Grouping, title: str) -> Figure:
    columns = [Column(group.label, len(group.lines), len(group.lines) < ENOUGH) for group in grouping.groups]
    ordered = grouping is not findings.labels
    axes = Axes(title, "lines", ordered)
    fits = ordered or len(columns) <= COLUMNS
    chart = points(columns, grouping.estimates, _plain_names(findings), axes) if fits else ""
    rows = [
        [visible(column.label) + (" (too few)" if column.doubtful else ""), f"{column.size:,}",
         *(_estimate(some[place], doubtful=column.doubtful) for some in grouping.estimates)]
        for place, column in enumerate(columns)
    ]  # fmt: skip
    return Figure(title, chart, table(["", "lines", *names(findings)], rows))


def _estimate(estimate: Estimate, *, doubtful: bool) -> str:
    between = "" if doubtful else f" <small>{estimate.low:.1f} to {estimate.high:.1f}</small>"
    return f'<span class="value">{estimate.value:.1f}</span>{between}'


def _figures(findings: Findings, figures: Sequence[Figure]) -> str:
    """Return charts beside one another, their numbers folded below; those without a chart as tables."""
    drawn = "".join(
        f'<figure><figcaption>{visible(figure.title)}</figcaption><div class="wide">{figure.chart}</div></figure>\n'
        for figure in figures
        if figure.chart
    )
    numbers, tables = (
        "".join(
            f"<h3>{visible(figure.title)}</h3>\n{figure.numbers}"
            for figure in figures
            if figure.numbers and bool(figure.chart) == charted
        )
        for charted in (True, False)
    )
    known = legend(_plain_names(findings)) if len(findings.systems) > 1 else ""
    return f'{known}<div class="figures">{drawn}</div>\n{folded("The numbers", numbers) if numbers else ""}{tables}'


def lengths_section(findings: Findings) -> str:
    """Return how long translations are, and how the scores of lines spread."""
    texts, metric = findings.texts, findings.metric
    ratios = [f"{place / 10:g}" if place % 5 == 0 else "" for place in range(RATIOS + 1)]
    scores = [f"{100 * place / POINTS:g}" if place % 4 == 0 else "" for place in range(POINTS + 1)]
    rows = []
    for place, system in enumerate(names(findings)):
        ours = sum(line.size for line in texts.systems[place])
        theirs = sum(texts.references[texts.closest(place, line)][line].size for line in range(len(texts)))
        blank, short, long = (len(findings.with_fault(key, place)) for key in ("blank", "short", "long"))
        rows.append([system, f"{ours / theirs:.3f}" if theirs else "", f"{blank + short:,}", f"{long:,}"])
    head = ["length as a share of the reference's", "all lines together", "blank or much too short", "much too long"]
    figures = [
        Figure(
            "Lines by their length as a share of the reference's",
            distributions(findings.ratios, ratios, "lines by length ratio", "the last step: all that are longer"),
            "",
        ),
        Figure(f"Lines by their {metric}", distributions(findings.points, scores, f"lines by {metric}", ""), ""),
    ]
    return (
        "<p>In characters without spaces: left of 1 something may have been left out, right of it put in.</p>\n"
        f"{_figures(findings, figures)}{table(head, rows)}"
    )


def words_section(findings: Findings) -> str:
    """Return which words of the references systems find, by how often training saw them; which they miss or put in."""
    unit = findings.texts.target_unit
    where = findings.trained or "the references of this test set"
    times = f"by times that they are in {where}"
    figures = [
        _by_class(findings, f"Recall: {unit} of the references that are in the translation, {times}", recall=True),
        _by_class(findings, f"Precision: {unit} of the translations that are in the reference, {times}", recall=False),
    ]
    often = "".join(_often(findings, place) for place in findings.places)
    chosen = (
        f"<h3>Missed and put in more than others</h3>\n<p>How many times of all that a {unit.removesuffix('s')} is in "
        "the references it is missing in the translation of its line, and the other way round; those furthest above "
        f"what {unit} of this text are on average.</p>\n{often}"
    )
    return (
        f"<p>Whether a line has the {unit} of its reference, wherever in the line, in percent; case is ignored.</p>\n"
        f"{_figures(findings, [figure for figure in figures if figure.chart])}{chosen if often else ''}"
    )


def _by_class(findings: Findings, title: str, *, recall: bool) -> Figure:
    kinds = sorted({class_ for some in findings.classes for class_, _ in some})
    found = [dict(some) for some in findings.classes]
    nothing = Found(0, 0, 0)
    sizes = {class_: max(some.get(class_, nothing)[0 if recall else 1] for some in found) for class_ in kinds}
    # Words counted in the references themselves cannot be rarer than they are there.
    kinds = [class_ for class_ in kinds if sizes[class_] and (class_.least or findings.trained)]
    if not kinds:
        return Figure(title, "", "")
    columns = [Column(class_.label, sizes[class_], sizes[class_] < ENOUGH) for class_ in kinds]
    shares = [
        [(each.recall if recall else each.precision) for each in (some.get(class_, nothing) for class_ in kinds)]
        for some in found
    ]
    unit = findings.texts.target_unit
    estimates = [[Estimate(share, share, share) for share in some] for some in shares]
    chart = points(columns, estimates, _plain_names(findings), Axes(title, unit))
    rows = [
        [column.label, f"{column.size:,}", *(f'<span class="value">{some[place]:.1f}</span>' for some in shares)]
        for place, column in enumerate(columns)
    ]
    return Figure(title, chart, table(["times", unit if recall else f"{unit}, at most", *names(findings)], rows))


def _often(findings: Findings, place: int) -> str:
    language = findings.texts.target_language
    both = (("missed", findings.missed[place]), ("put in", findings.put_in[place]))
    chips = "".join(
        f'<div class="chips"><small>{what}</small>{"".join(_chip(each, language) for each in some)}</div>\n'
        for what, some in both
        if some
    )
    return f"<h4>{list(names(findings))[place]}</h4>\n{chips}" if chips else ""


def _chip(each: Often, language: str) -> str:
    shown = f"{word(each.word, language)}<small>{each.times:,} of {each.all:,}</small>"
    return f'<a href="#lines" data-text="{plainly(each.word)}">{shown}</a>'


def names(findings: Findings) -> Iterable[str]:
    """Yield the name of each system with its point, as markup."""
    return (f"{badge(place)}{name(system.name)}" for place, system in enumerate(findings.systems))


def _plain_names(findings: Findings) -> list[str]:
    return [system.name for system in findings.systems]

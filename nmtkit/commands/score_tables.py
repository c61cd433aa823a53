"""Scores as tables: of a terminal, of Markdown and of LaTeX, with the signatures that belong to them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nmtkit.commands.score_results import Result, SystemScores, TestSet
from nmtkit.corpus.lines import clean
from nmtkit.log import counted
from nmtkit.metrics.base import Score
from nmtkit.metrics.significance import SIGNIFICANT

MARK = "*"

_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"↑": r"$\uparrow$", "↓": r"$\downarrow$", "±": r"$\pm$", "<": "$<$", ">": "$>$", "|": r"\textbar{}"},
    **{"[": "{[}", "*": "{*}"},  # behind a rule or the end of a row these would be its options
}
_MARKDOWN = {character: f"\\{character}" for character in r"\`*_[]<>|~$&"}


@dataclass(frozen=True)
class Cell:
    """A cell: what it says, perhaps marked, and what belongs beneath, or behind it with a joint between.

    `mark` is a blank in a column where other cells are marked.
    """

    text: str
    more: str = ""
    joint: str = " "
    mark: str = ""

    @property
    def marked(self) -> str:
        """The text with its mark."""
        return f"{self.text}{self.mark}".strip()

    @property
    def joined(self) -> str:
        """All in one line."""
        return f"{self.marked}{self.joint}{self.more}" if self.more else self.marked


@dataclass(frozen=True)
class Grid:
    """A table: `words` columns of words, then columns of numbers; a row of None is a line between groups of rows."""

    title: str
    head: list[str]
    words: int
    rows: list[list[Cell] | None]


class Scores:
    """The tables that scores of test sets make, and what is said below; `drawing` is the signature of the draws."""

    def __init__(self, test_sets: Sequence[TestSet], drawing: str, title: str = "") -> None:
        self._test_sets, self._drawing, self._title = test_sets, drawing, title
        self._systems = [system.name for system in test_sets[0].systems]
        self.several = len(self._systems) > 1

    def grids(self) -> Iterator[Grid]:
        """Yield the table of scores and, where systems are compared, that of p-values."""
        yield self._of_scores()
        if self.several and self._drawing:
            yield self._of_p_values()

    def signatures(self) -> Iterator[tuple[str, str]]:
        """Yield what is said below: the name and signature of each metric and of what was drawn.

        Test sets with other numbers of references have other signatures; each then names its sets.
        """
        for place, score in enumerate(self._scores()):
            sets: dict[str, list[str]] = {}
            for test_set in self._test_sets:
                sets.setdefault(test_set.systems[0].scores[place].score.signature, []).append(clean(test_set.name))
            for signature, names in sets.items():
                yield score.name if len(sets) == 1 else f"{score.name} ({', '.join(names)})", signature
        if self._drawing:
            yield "± and p" if self.several else "±", self._drawing

    def legend(self) -> str:
        """Return what the marks mean; empty where there are none."""
        if not (self.several and self._drawing):
            return ""
        return f"{MARK} differs from {clean(self._systems[0])}: p < {SIGNIFICANT:g} in both tests"

    def _of_scores(self) -> Grid:
        head = ["test set", *(["system"] if self.several else []), *map(_arrow, self._scores())]
        rows: list[list[Cell] | None] = []
        for test_set in self._test_sets:
            for place, system in enumerate(test_set.systems):
                name = Cell(clean(test_set.name), counted(test_set.lines, "line"), ", ") if not place else Cell("")
                rows.append([*self._named(name, system), *map(self._cell, system.scores)])
            for number, part in enumerate(test_set.systems[0].parts):
                for place, system in enumerate(test_set.systems):
                    name = Cell(f"  {clean(part.label)} ({part.lines:,})" if not place else "")
                    values = [replace(self._cell(result), more="") for result in system.parts[number].scores]
                    rows.append([*self._named(name, system), *values])
            rows.append(None)
        return Grid(self._title, head, 1 + self.several, rows[:-1])

    def _named(self, name: Cell, system: SystemScores) -> list[Cell]:
        return [name, Cell(clean(system.name))] if self.several else [name]

    def _of_p_values(self) -> Grid:
        head = ["test set", "system", *(score.name for score in self._scores())]
        rows: list[list[Cell] | None] = []
        for test_set in self._test_sets:
            for place, system in enumerate(test_set.systems[1:]):
                values = [
                    Cell(f"{result.comparison.p_bootstrap:.4f}", f"{result.comparison.p_randomization:.4f}", " / ")
                    for result in system.scores
                    if result.comparison
                ]
                rows.append([Cell(clean(test_set.name) if not place else ""), Cell(clean(system.name)), *values])
            rows.append(None)
        title = f"p-values against {clean(self._systems[0])}: paired bootstrap / approximate randomization"
        return Grid(title, head, 2, rows[:-1])

    def _scores(self) -> list[Score]:
        return [result.score for result in self._test_sets[0].systems[0].scores]

    def _cell(self, result: Result) -> Cell:
        marked = result.comparison is not None and result.comparison.is_significant
        return Cell(
            f"{result.score.value:.2f}",
            f"±{result.interval.half:.2f}" if result.interval else "",
            mark=(MARK if marked else " ") if self.several and self._drawing else "",
        )


def _arrow(score: Score) -> str:
    return f"{score.name} {'↑' if score.higher_is_better else '↓'}"


def print_tables(scores: Scores) -> None:
    """Write tables for a terminal to stdout."""
    console = Console(highlight=False)
    for grid in scores.grids():
        # Six metrics of some systems go into 80 characters, which lines between columns would leave no room for.
        title = Text(grid.title) if grid.title else None
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for place, name in enumerate(grid.head):
            words = place < grid.words
            # A name may break behind its hyphen, and numbers never break.
            head = Text(name if words else name.replace("-", "-\n").replace("++ ", "++\n"))
            table.add_column(head, justify="left" if words else "right", no_wrap=not words, overflow="fold")
        for row in grid.rows:
            if row is None:
                table.add_section()
            else:
                table.add_row(*(Text.assemble(cell.text, cell.mark, *_beneath(cell)) for cell in row))
        console.print(table)
    for below in (*("  ".join(signed) for signed in scores.signatures()), scores.legend()):
        if below:
            console.print(below, style="dim", markup=False, soft_wrap=True)


def _beneath(cell: Cell) -> list[tuple[str, str]]:
    """Return what stands below a number, its last digit below that of the number."""
    return [(f"\n{cell.more}{' ' * len(cell.mark)}", "dim")] if cell.more else []


def markdown(scores: Scores) -> str:
    """Return the tables in Markdown."""
    parts = []
    for grid in scores.grids():
        align = [":--" if place < grid.words else "--:" for place in range(len(grid.head))]
        lines = [_markdown_row(grid.head), _markdown_row(align)]
        for row in grid.rows:
            if row is not None:
                lines.append(_markdown_row([cell.joined for cell in row]))
        title = f"{_markdown_text(grid.title)}\n\n" if grid.title else ""
        parts.append(title + "\n".join(lines))
    signatures = "\n".join(f"- {_markdown_text(name)}: `{signature}`" for name, signature in scores.signatures())
    return "\n\n".join(filter(None, [*parts, signatures, _markdown_text(scores.legend())])) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_markdown_text, cells))} |"


def _markdown_text(text: str) -> str:
    return "".join(_MARKDOWN.get(character, character) for character in text)


def latex(scores: Scores) -> str:
    """Return the tables in LaTeX, for the package booktabs; signatures and marks are comments."""
    parts = []
    for grid in scores.grids():
        columns = "l" * grid.words + "r" * (len(grid.head) - grid.words)
        lines = [f"% {grid.title}"] if grid.title else []
        lines += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", _latex_row(grid.head), r"\midrule"]
        for row in grid.rows:
            lines.append(r"\midrule" if row is None else _latex_row([_latex_cell(cell) for cell in row], escaped=True))
        lines += [r"\bottomrule", r"\end{tabular}"]
        parts.append("\n".join(lines))
    below = [*("  ".join(signed) for signed in scores.signatures()), scores.legend()]
    return "\n\n".join([*parts, "\n".join(f"% {line}" for line in below if line)]) + "\n"


def _latex_row(cells: Sequence[str], *, escaped: bool = False) -> str:
    return " & ".join(cells if escaped else map(_latex_text, cells)) + r" \\"


def _latex_cell(cell: Cell) -> str:
    text = _latex_text(cell.text.strip())
    if cell.mark == MARK:
        text += f"$^{{{MARK}}}$"
    if not cell.more:
        return text
    more = _latex_text(cell.more)
    return text + cell.joint + (rf"{{\scriptsize {more}}}" if cell.more.startswith("±") else more)


def _latex_text(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)

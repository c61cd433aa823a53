"""What `nmtkit score` found, and its three forms on stdout: a table, tab-separated lines, JSON."""

import json
import sys
from dataclasses import dataclass
from typing import Any, Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from nmtkit.corpus.lines import clean
from nmtkit.metrics.base import Score

Form = Literal["auto", "table", "json"]
"""`auto` is a table on a terminal, else a tab-separated line for each score."""


@dataclass(frozen=True)
class Part:
    """The scores of those lines of a test set that carry one label."""

    label: str
    lines: int
    scores: list[Score]


@dataclass(frozen=True)
class TestSet:
    """The scores of a test set, by label where it has labels, and what they were computed from."""

    name: str
    lines: int
    source: str | None
    references: str
    hypotheses: str
    scores: list[Score]
    parts: list[Part]
    tag: str = ""
    """What stood before each source; empty where nothing did."""


def show(test_sets: list[TestSet], origin: dict[str, Any], form: Form) -> None:
    """Write the scores to stdout; `origin` says what made them."""
    if form == "json":
        sys.stdout.write(json.dumps({**origin, "sets": plain(test_sets)}, ensure_ascii=False, indent=2) + "\n")
    elif form == "table" or sys.stdout.isatty():
        _show_table(test_sets, origin.get("checkpoint"))
    else:
        for each in test_sets:
            _write_lines(each.name, each.scores)
            for part in each.parts:
                _write_lines(f"{each.name}: {part.label}", part.scores)
    sys.stdout.flush()


def plain(found: Any) -> Any:
    """Return what was found as JSON has it."""
    if isinstance(found, Score):
        return found._asdict()
    if isinstance(found, list):
        return [plain(each) for each in found]
    if isinstance(found, TestSet | Part):
        return {key: plain(value) for key, value in vars(found).items()}
    return found


def _write_lines(name: str, scores: list[Score]) -> None:
    name = clean(name)  # the name of a file may hold tabs and line feeds
    for score in scores:
        sys.stdout.write(f"{name}\t{score.name}\t{score.value:.2f}\t{score.signature}\n")


def _show_table(test_sets: list[TestSet], checkpoint: str | None) -> None:
    """Show one row a test set and label and one column a metric, the signatures below."""
    console = Console(highlight=False)
    table = Table(title=f"scores of checkpoint {checkpoint}" if checkpoint else None, title_justify="left")
    table.add_column("test set", no_wrap=True)
    table.add_column("lines", justify="right")
    for score in test_sets[0].scores:
        table.add_column(f"{score.name} {'↑' if score.higher_is_better else '↓'}", justify="right")
    for each in test_sets:
        _add_row(table, each.name, each.lines, each.scores)
        for part in each.parts:
            _add_row(table, f"  {part.label}", part.lines, part.scores)
        if each.parts:
            table.add_section()
    console.print(table)
    for score in test_sets[0].scores:
        console.print(f"{score.name}  {score.signature}", style="dim", markup=False, soft_wrap=True)


def _add_row(table: Table, name: str, lines: int, scores: list[Score]) -> None:
    table.add_row(escape(clean(name)), f"{lines:,}", *(f"{score.value:.2f}" for score in scores))

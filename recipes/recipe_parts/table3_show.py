"""Table 3 as Markdown, which is also what a terminal shows, and as JSON."""

import math
import statistics
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from nmtkit.config import Config
from recipe_parts.table3_cells import Cell, Result
from recipe_parts.table3_effects import (
    MEASURES,
    PERPLEXITY,
    SCORE,
    Agreement,
    Effect,
    Found,
    agreement,
    effects,
)
from recipe_parts.table3_rows import LeftOut, Row, Variation, in_words

NONE = "–"
PAPERS = "The paper's figures: newstest2013 English-German, 100k updates, tokenised BLEU, one training a row."


class Table(NamedTuple):
    """Everything that a table says."""

    config: Config
    """The base."""
    variations: list[Variation]
    left_out: list[LeftOut]
    cells: list[Cell]

    @property
    def found(self) -> Found:
        """The results of each row that has some, by seed."""
        found: Found = {}
        for variation in self.variations:
            results = [cell.result() for cell in self.cells if cell.variation is variation]
            there = [result for result in results if result is not None]
            if there:
                found[variation.row] = there
        return found


def markdown(table: Table) -> str:
    """Return the table, what it says of the paper's order, and what was left out."""
    found = table.found
    lines = ["# Table 3", "", PAPERS, *_conditions(table, found), ""]
    lines += _aligned(_figures(table, found))
    compared = {measure.name: effects(found, measure) for measure in MEASURES}
    if compared[SCORE.name]:
        lines += ["", "Against the base, with 95 % intervals by the spread of seeds, pooled over rows:", ""]
        lines += _aligned(_effects(compared[PERPLEXITY.name], compared[SCORE.name]))
    said = [_agreement(measure.name, agreed) for measure in MEASURES if (agreed := agreement(found, measure))]
    lines += ["", *said] if said else []
    if table.left_out:
        lines += [
            "",
            "Left out:",
            "",
            *(f"- {left.row.name} ({left.row.change}): {left.why}" for left in table.left_out),
        ]
    return "\n".join(lines) + "\n"


def _conditions(table: Table, found: Found) -> Iterator[str]:
    """Yield what the figures of this table are."""
    dev = table.config.corpus.dev
    updates = table.config.train.stop.updates
    yield (
        f"Here: the development set ({dev.name if dev else NONE}), {table.config.languages.source} to "
        f"{table.config.languages.target}, {updates:,} updates, the last weights, no averaging."
    )
    results = [result for of_row in found.values() for result in of_row]
    for metric, signature in dict.fromkeys((result.metric, result.signature) for result in results):
        yield f"{metric}: `{signature}`."


def _figures(table: Table, found: Found) -> Iterator[Sequence[str]]:
    yield ("row", "paper", "here", "seeds", "M params", "here", "perplexity", "here", "BLEU", "here")
    yield ("---", "---", "---", *["---:"] * 7)
    for variation in table.variations:
        row, results = variation.row, found.get(variation.row, [])
        parameters = f"{results[0].parameters / 1e6:.2f}" if results else NONE
        yield (
            row.name,
            row.change or NONE,
            in_words(table.config, variation) or NONE,
            str(len(results)),
            NONE if row.paper.parameters is None else str(row.paper.parameters),
            parameters,
            f"{row.paper.perplexity:.2f}",
            _mean([result.perplexity for result in results]),
            f"{row.paper.bleu:.1f}",
            _mean([result.score for result in results]),
        )


def _mean(values: Sequence[float]) -> str:
    """Return the mean, with the lowest and the highest value where there are several."""
    if not values:
        return NONE
    mean = f"{statistics.fmean(values):.2f}"
    return mean if len(values) < 2 else f"{mean} ({min(values):.2f} to {max(values):.2f})"


def _effects(of_perplexity: Sequence[Effect], of_score: Sequence[Effect]) -> Iterator[Sequence[str]]:
    yield ("row", "perplexity, paper", "here", "BLEU, paper", "here", "remark")
    yield ("---", *["---:"] * 4, "---")
    for perplexity, score in zip(of_perplexity, of_score, strict=True):
        yield (
            perplexity.row.name,
            _percent(perplexity.paper),
            _percent(perplexity.here) + _margin(perplexity, _percent_more),
            f"{score.paper:+.1f}",
            f"{score.here:+.2f}" + _margin(score, "{:.2f}".format),
            _remark(perplexity, score),
        )


def _percent(nats: float) -> str:
    return f"{math.expm1(nats):+.1%}"


def _percent_more(nats: float) -> str:
    return f"{math.expm1(nats):.1%}"


def _margin(effect: Effect, shown: Any) -> str:
    return "" if effect.margin is None else f" ± {shown(effect.margin)}"


def _remark(perplexity: Effect, score: Effect) -> str:
    """Return what is beyond the spread of seeds, and what of it is not as in the paper."""
    if perplexity.margin is None:
        return "one seed: no spread"
    clear = {name: effect for name, effect in (("perplexity", perplexity), ("BLEU", score)) if effect.is_clear}
    if not clear:
        return "within the spread of seeds"
    said = " and ".join(clear) + (" beyond the spread" if len(clear) < 2 else " both beyond it")
    against = [name for name, effect in clear.items() if effect.here * effect.paper < 0]
    return said + (f"; {' and '.join(against)} against the paper" if against else "")


def _agreement(name: str, agreed: Agreement) -> str:
    """Return how far the order of rows agrees with the paper's."""
    return (
        f"- By {name}: rank correlation {agreed.correlation:.2f} with the paper's effects over {agreed.rows} rows "
        f"({agreed.low:.2f} to {agreed.high:.2f} in 95 % of tables drawn with the spread of seeds; an order drawn at "
        f"random agrees as well with a probability of {agreed.chance:.1%}). The same direction as in the paper: "
        f"{agreed.same_direction} of {agreed.directed} rows; {agreed.clear_same_direction} of the {agreed.clear} that "
        "are beyond the spread."
    )


def _aligned(rows: Iterator[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table with its columns one under the other; the second row says how they align."""
    cells = list(rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = [mark.endswith(":") for mark in cells[1]]

    def line(row: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        )
        return f"| {' | '.join(padded)} |"

    marks = ["-" * (width - 1) + (":" if is_right else "-") for width, is_right in zip(widths, right, strict=True)]
    return [line(cells[0]), line(marks), *map(line, cells[2:])]


def plain(table: Table) -> dict[str, Any]:
    """Return the table as JSON has it."""
    found = table.found
    of = {measure.name: {effect.row.name: effect for effect in effects(found, measure)} for measure in MEASURES}
    agreements = {measure.name: agreement(found, measure) for measure in MEASURES}
    return {
        "paper": PAPERS,
        "updates": table.config.train.stop.updates,
        "base": table.config.model_dump(mode="json", exclude_none=True),
        "rows": [
            {
                "row": variation.row.name,
                "change": variation.row.change,
                "settings": variation.settings,
                "paper": variation.row.paper._asdict(),
                "results": [
                    _result(cell, result)
                    for cell in table.cells
                    if cell.variation is variation and (result := cell.result())
                ],
                "effects": {name: _effect(named.get(variation.row.name)) for name, named in of.items()},
            }
            for variation in table.variations
        ],
        "agreement": {name: agreed and agreed._asdict() for name, agreed in agreements.items()},
        "left_out": [{"row": left.row.name, "why": left.why} for left in table.left_out],
    }


def _result(cell: Cell, result: Result) -> dict[str, Any]:
    return {**result._asdict(), "run": str(cell.run)}


def _effect(effect: Effect | None) -> dict[str, Any] | None:
    if effect is None:
        return None
    return {"paper": effect.paper, "here": effect.here, "margin": effect.margin, "clear": effect.is_clear}


def plan(table: Table) -> str:
    """Return what the rows are for this base, before anything is trained."""
    rows = [("row", "paper", "here", "finished seeds"), ("---", "---", "---", "---")]
    for variation in table.variations:
        seeds = [str(cell.seed) for cell in table.cells if cell.variation is variation and cell.result()]
        rows.append((_name(variation.row), variation.row.change or NONE, in_words(table.config, variation) or NONE,
                     ", ".join(seeds) or NONE))  # fmt: skip
    left = [f"left out: {each.row.name} ({each.row.change}): {each.why}" for each in table.left_out]
    return "\n".join([*_aligned(iter(rows)), *left]) + "\n"


def _name(row: Row) -> str:
    return row.name

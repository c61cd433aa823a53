"""The table at the end of a WMT14 recipe: the paper's figures, those to be expected at this stage, and those scored."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from recipe_parts.checking import write_whole

NO_FIGURE = "–"
NEXT_TO_NOTHING = 0.01
"""The scale up to which a training learns no more than some frequent words."""


class Figures(NamedTuple):
    """What was published of a model, by the names that nmtkit's scores have."""

    time: str
    checkpoint_bytes: int
    """The most that checkpoints take at a time, by the reckoning of `nmtkit train --plan`."""
    paper: Mapping[str, str]
    expected: Mapping[str, str]
    dev: Mapping[str, tuple[str, str, str]]
    """On the development set, not averaged: by `perplexity` and `score`, what it is, the figure, and what to expect."""


class Published(NamedTuple):
    """What was published of a pair of languages."""

    title: str
    metrics: Mapping[str, str]
    """Which scores are shown, and what each is."""
    sizes: Mapping[str, Figures]


def read_published(path: Path) -> Published:
    """Read the published figures of a recipe."""
    content = json.loads(path.read_bytes())
    fields = Figures._fields
    sizes = {name: Figures(**{field: each[field] for field in fields}) for name, each in content["sizes"].items()}
    return Published(content["title"], content["metrics"], sizes)


class Stage(NamedTuple):
    """How far a training is: its scale, the updates it has, and those it should have."""

    scale: float
    updates: int
    whole: int
    clean: bool = False
    """Whether more was dropped than in the paper (`--clean`)."""

    @property
    def caveat(self) -> str:
        """Why no published figure is to be expected; empty where one is."""
        if self.scale < 1:
            return "near 0" if self.scale <= NEXT_TO_NOTHING else "far below"
        return f"less: {self.updates:,} of {self.whole:,} updates" if self.updates < self.whole else ""


def stage_of(run: Path, scale: float, whole: int, *, clean: bool = False) -> Stage:
    """Return how far the training of a run is, by its newest checkpoint."""
    numbers = [int(folder.name) for folder in (run / "checkpoints").glob("*") if folder.name.isdecimal()]
    return Stage(scale, max(numbers, default=0), whole, clean)


def last_validation(metrics: Path) -> dict[str, Any]:
    """Return the last validation that metrics.jsonl tells of, the average not counted; empty where there is none."""
    found: dict[str, Any] = {}
    if metrics.is_file():
        for line in metrics.read_bytes().split(b"\n"):
            record = json.loads(line) if line.startswith(b"{") and line.endswith(b"}") else {}
            found = record if record.get("kind") == "validation" else found
    return found


def table(published: Published, name: str, stage: Stage, scores: list[dict[str, Any]], dev: dict[str, Any]) -> str:
    """Return the table: a line for each metric, and for the development set where there are figures for it.

    `scores` are those of `nmtkit score --json`, `dev` is a validation of metrics.jsonl.
    """
    figures = published.sizes[name]
    found = {score["name"]: _number(score["value"]) + _interval(score) for score in scores}
    rows = [("newstest2014", "paper", "expected at this stage", "yours")]
    for metric, meaning in published.metrics.items():
        expected = stage.caveat or figures.expected.get(metric, NO_FIGURE)
        rows.append(
            (f"{metric}: {meaning}", figures.paper.get(metric, NO_FIGURE), expected, found.get(metric, NO_FIGURE))
        )
    yours = {"perplexity": dev.get("perplexity"), "score": dev.get("score")}
    for key, (meaning, figure, expected) in figures.dev.items():
        rows.append((meaning, figure, NO_FIGURE if stage.caveat else expected, _number(yours.get(key))))
    data = ", with --clean" if stage.clean else ""
    lines = [f"{published.title}, {name}{data}, after update {stage.updates:,}", "", *_aligned(rows), ""]
    lines += [f"{score['name']}  {score['signature']}" for score in scores]
    return "\n".join(lines) + "\n"


def _number(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, int | float) else NO_FIGURE


def _interval(score: Mapping[str, Any]) -> str:
    return f" ({score['low']:.2f} to {score['high']:.2f})" if "low" in score else ""


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return rows as lines, the first column to the left, the others to the right."""
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    return [
        "  ".join([row[0].ljust(first), *(cell.rjust(width) for cell, width in zip(row[1:], others, strict=True))])
        for row in rows
    ]


def keep(
    path: Path, published: Published, name: str, stage: Stage, scores: list[dict[str, Any]], dev: dict[str, Any]
) -> None:
    """Write the same for programs."""
    figures = published.sizes[name]
    content = {
        "title": published.title,
        "size": name,
        **stage._asdict(),
        "paper": dict(figures.paper),
        "expected": stage.caveat or dict(figures.expected),
        "scores": scores,
        "dev": {key: {"paper": figure, "yours": dev.get(key)} for key, (_, figure, _) in figures.dev.items()},
    }
    write_whole(path, (json.dumps(content, ensure_ascii=False, indent=2) + "\n").encode())

"""Charts that compare systems, as SVG: scores of groups of lines with their intervals, and distributions.

Systems are told apart by colour and by the shape of their points.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nmtkit.analysis.groups import nice
from nmtkit.analysis.scoring import Estimate
from nmtkit.commands.report_figures import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, grid_line, outline, short
from nmtkit.commands.report_markup import name, plainly

SHAPES = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z",
    "M-3.6-3.6h7.2v7.2h-7.2Z",
    "M0-5L4.6 3.6H-4.6Z",
    "M0-5L5 0L0 5L-5 0Z",
)
"""Circle, square, triangle, diamond, around the origin."""
COLOURS = 6
FLOOR = HEIGHT - BOTTOM
SIZES, TALL = 60, 22
"""The height below a chart of bars that say how many a column has, and of their numbers."""
LETTER = 6.0
"""The width of a letter of a label, about."""
LEVELS = 5
SHORT = {"characters": "chars"}
"""What there is room for left of a chart."""


class Column(NamedTuple):
    """A group of lines or words: its label, how many it has, and whether these are too few to rely on."""

    label: str
    size: int
    doubtful: bool


def kind(system: int) -> str:
    """Return the class that gives a system its colour."""
    return f"s{system % COLOURS}"


def mark(system: int, x: float, y: float, title: str = "", *, hollow: bool = False) -> str:
    """Return the point of a system; `title` is markup that a pointer shows."""
    told = f"<title>{title}</title>" if title else ""
    classes = f"{kind(system)} hollow" if hollow else kind(system)
    place = f'transform="translate({x:.1f} {y:.1f})"'
    shape = f'<path class="{classes}" {place} d="{SHAPES[system % len(SHAPES)]}"'
    return f"{shape}>{told}</path>" if told else f"{shape}/>"


def badge(system: int) -> str:
    """Return the point of a system to stand in text."""
    return f'<svg class="badge" viewBox="-6 -6 12 12" aria-hidden="true">{mark(system, 0, 0)}</svg>'


def legend(names: Iterable[str]) -> str:
    """Return which point is which system's."""
    items = "".join(f"<span>{badge(place)}{name(each)}</span>" for place, each in enumerate(names))
    return f'<p class="legend">{items}</p>\n'


class Axes(NamedTuple):
    """What a chart is about, what its columns have so many of, and whether they follow one another as numbers do."""

    title: str
    unit: str
    ordered: bool = True


def points(columns: Sequence[Column], rows: Sequence[Sequence[Estimate]], names: Sequence[str], axes: Axes) -> str:
    """Return the values of each system (rows) in each column, side by side, and below how many a column has.

    Columns too small to rely on have hollow points without an interval; the intervals of the others fit the chart.
    """
    low, step, high = _scale(columns, rows)
    across, up = (WIDTH - LEFT - RIGHT) / len(columns), (FLOOR - TOP) / (high - low)
    levels = [low + number * step for number in range((high - low) // step + 1)]
    grid = [grid_line(f"{level}", FLOOR - (level - low) * up) for level in levels]
    beside = min(14.0, 0.8 * across / len(rows))
    drawn: list[str] = []
    for system, row in enumerate(rows):
        shift = (system - (len(rows) - 1) / 2) * beside
        spots = [
            (LEFT + (place + 0.5) * across + shift, FLOOR - (each.value - low) * up) for place, each in enumerate(row)
        ]
        if axes.ordered:
            drawn.append(_line(system, [at for at, column in zip(spots, columns, strict=True) if not column.doubtful]))
        for column, each, (x, y) in zip(columns, row, spots, strict=True):
            told = f"{plainly(names[system])}, {plainly(column.label)}: {_told(each, column, axes.unit)}"
            if not column.doubtful and each.low < each.high:
                ends = [f"{FLOOR - (end - low) * up:.1f}" for end in (each.low, each.high)]
                drawn.append(f'<line class="{kind(system)}" x1="{x:.1f}" x2="{x:.1f}" y1="{ends[0]}" y2="{ends[1]}"/>')
            drawn.append(mark(system, x, y, told, hollow=column.doubtful))
    height = HEIGHT + SIZES
    return (
        f'<svg class="figure points" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{plainly(axes.title)}">'
        f"<title>{plainly(axes.title)}</title>{''.join(grid)}{''.join(drawn)}"
        f"{_sizes(columns, across, height, axes.unit)}</svg>\n"
    )


def _told(estimate: Estimate, column: Column, unit: str) -> str:
    """Return a value in words, which a pointer shows."""
    size = f"{column.size:,} {unit.removesuffix('s') if column.size == 1 else unit}"
    if column.doubtful:
        return f"{estimate.value:.1f} ({size}, too few to rely on)"
    between = f"{estimate.low:.1f} to {estimate.high:.1f}; " if estimate.low < estimate.high else ""
    return f"{estimate.value:.1f} ({between}{size})"


def _line(system: int, spots: Sequence[tuple[float, float]]) -> str:
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
    return f'<polyline class="{kind(system)}" points="{joined}"/>' if len(spots) > 1 else ""


def _scale(columns: Sequence[Column], rows: Sequence[Sequence[Estimate]]) -> tuple[int, int, int]:
    """Return the lowest level, the step between levels, and the highest level."""
    ends: list[float] = []
    for row in rows:
        for column, each in zip(columns, row, strict=True):
            ends += [each.value] if column.doubtful else each
    step = nice(max(1.0, (max(ends) - min(ends)) / LEVELS))
    low = math.floor(min(ends) / step) * step
    if min(ends) == max(ends) == 100:
        low -= step  # no scale goes beyond what is perfect
    return low, step, max(low + step, math.ceil(max(ends) / step) * step)


def _sizes(columns: Sequence[Column], across: float, height: int, unit: str) -> str:
    """Return the labels of columns, and below them bars with how many of a unit each has."""
    most = max(column.size for column in columns)
    floor = height - 4
    parts = []
    for place, column in enumerate(columns):
        middle = LEFT + (place + 0.5) * across
        tall = max(1.0, (SIZES - TALL) * column.size / most)
        width = min(26.0, 0.6 * across)
        room = max(3, int(across / LETTER))
        label = column.label if len(column.label) <= room else f"{column.label[: room - 1]}…"
        classes = "size few" if column.doubtful else "size"
        parts.append(
            f'<text class="tick strong middle" x="{middle:.1f}" y="{FLOOR + 16}">{plainly(label)}</text>'
            f'<rect class="{classes}" x="{middle - width / 2:.1f}" y="{floor - tall:.1f}" width="{width:.1f}" '
            f'height="{tall:.1f}"/>'
            f'<text class="tick middle" x="{middle:.1f}" y="{floor - tall - 4:.1f}">{column.size:,}</text>'
        )
    return f'{"".join(parts)}<text class="tick end" x="{LEFT - 5}" y="{floor}">{plainly(SHORT.get(unit, unit))}</text>'


def distributions(rows: Sequence[Sequence[int]], ticks: Sequence[str], title: str, unit: str) -> str:
    """Return how many lines each system (rows) has in each bin, as outlines over one another.

    `ticks` label the borders of bins from the first one on; empty ones are left out.
    """
    most = max(1, *(max(row) for row in rows))
    step = nice(max(1, most / LEVELS))
    top = step * -(-most // step)
    across, up = (WIDTH - LEFT - RIGHT) / len(rows[0]), (FLOOR - TOP) / top
    grid = [grid_line(short(level), FLOOR - level * up) for level in range(0, top + 1, step)]
    labels = [
        f'<text class="tick {"end" if place == len(rows[0]) else "middle"}" x="{LEFT + place * across:.1f}" '
        f'y="{FLOOR + 14}">{plainly(tick)}</text>'
        for place, tick in enumerate(ticks)
        if tick
    ]
    areas = [f'<path class="{kind(system)}" d="{outline(row, across, up, FLOOR)}"/>' for system, row in enumerate(rows)]
    return (
        f'<svg class="figure areas" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{plainly(title)}">'
        f"<title>{plainly(title)}</title>{''.join(grid)}{''.join(areas)}{''.join(labels)}"
        f'<text class="tick end" x="{WIDTH - RIGHT}" y="{HEIGHT - 2}">{plainly(unit)}</text></svg>\n'
    )

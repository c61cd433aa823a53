"""Figures of the report page: histograms as SVG, drawn here, sharp at any size and in the colours of the page."""

from collections.abc import Sequence
from typing import NamedTuple

from nmtkit.analysis.groups import nice

WIDTH, HEIGHT = 520, 220
LEFT, RIGHT, TOP, BOTTOM = 46, 8, 10, 30
SHOWN = 0.998
"""The share of lines that a histogram reaches; the few longest would squeeze all others."""


class Statistics(NamedTuple):
    """A distribution of lengths in short."""

    mean: float
    median: int
    most: int
    """Nineteen of twenty are no longer."""
    longest: int


def statistics(counts: Sequence[int]) -> Statistics:
    """Return the statistics of a distribution: how many lines have 0, 1, 2 … words or pieces."""
    total = sum(counts)
    if not total:
        return Statistics(0.0, 0, 0, 0)
    mean = sum(length * count for length, count in enumerate(counts)) / total
    longest = max(length for length, count in enumerate(counts) if count)
    return Statistics(mean, _quantile(counts, 0.5), _quantile(counts, 0.95), longest)


def histogram(source: Sequence[int], target: Sequence[int], unit: str) -> str:
    """Return the distributions of both sides over one another."""
    end = max(1, *(_quantile(counts, SHOWN) for counts in (source, target)))
    shown = [[*counts[: end + 1], *[0] * (end + 1 - len(counts))] for counts in (source, target)]
    step = nice(max(1, *map(max, shown)) / 4)
    top = step * -(-max(1, *map(max, shown)) // step)
    across, up = (WIDTH - LEFT - RIGHT) / (end + 1), (HEIGHT - TOP - BOTTOM) / top
    floor = HEIGHT - BOTTOM
    grid = [grid_line(short(level), floor - level * up) for level in range(0, int(top) + 1, int(step))]
    every = nice((end + 1) / 8)
    ticks = [
        f'<text class="tick middle" x="{LEFT + (length + 0.5) * across:.1f}" y="{floor + 14}">{length}</text>'
        for length in range(0, end + 1, every)
    ]
    areas = [
        f'<path class="{side}" d="{outline(counts, across, up, floor)}"/>'
        for side, counts in zip(("source", "target"), shown, strict=True)
    ]
    beyond = sum(sum(counts[end + 1 :]) for counts in (source, target))
    note = f", the {beyond:,} longest left out" if beyond else ""
    label = f"lines of source and target by {unit}"
    return (
        f'<svg class="figure" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
        f"<title>{label}</title>{''.join(grid)}{''.join(areas)}{''.join(ticks)}"
        f'<text class="tick end" x="{WIDTH - RIGHT}" y="{HEIGHT - 2}">{unit}{note}</text></svg>\n'
    )


def grid_line(label: str, y: float) -> str:
    """Return a line across a figure with its label."""
    line = f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
    return f'{line}<text class="tick end" x="{LEFT - 5}" y="{y + 3.5:.1f}">{label}</text>'


def outline(counts: Sequence[int], across: float, up: float, floor: float) -> str:
    """Return the path around columns, each `across` wide and `up` high for each that it counts."""
    steps = [f"V{floor - count * up:.1f}H{LEFT + (place + 1) * across:.1f}" for place, count in enumerate(counts)]
    return f"M{LEFT} {floor}{''.join(steps)}V{floor}Z"


def _quantile(counts: Sequence[int], part: float) -> int:
    """Return the smallest length that this part of the lines does not exceed."""
    wanted, seen = part * sum(counts), 0
    for length, count in enumerate(counts):
        seen += count
        if seen >= wanted:
            return length
    return 0


def short(number: int) -> str:
    """Return a count in few characters: 2k, 1.5M."""
    for size, mark in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:g}{mark}"
    return str(number)

"""The learning curve: metrics.jsonl as one picture of perplexity, development score and learning rate."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nmtkit.run_folder import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LARGEST = 1e100
"""Numbers beyond this cannot be drawn: the ends of their axis would be infinite."""
SHOWN_RANGE = 60
"""Perplexities over this many times the lowest are cut off: the first updates would press all others flat."""

BLUE, ORANGE, GREEN, GREY = "#1f6fb4", "#d95f02", "#1b9e77", "#666666"

Record = dict[str, Any]


class Records(NamedTuple):
    """What metrics.jsonl says, by kind, each in the order of updates."""

    train: list[Record]
    validation: list[Record]
    average: list[Record]


class Series(NamedTuple):
    """Points of one line of the picture."""

    updates: list[int]
    values: list[float]


def draw_learning_curve(metrics_file: Path, picture: Path) -> None:
    """Draw the records of `metrics_file` into the PNG file `picture`, whatever there is of them so far."""
    # not through pyplot, which keeps every figure until it is told to close it
    from matplotlib.figure import Figure

    records = read_records(metrics_file)
    scored = _series(records.validation, "score").values
    heights = [3.0, 2.4, 1.4] if scored else [3.0, 1.4]
    figure = Figure(figsize=(8, sum(heights) + 0.8), dpi=120, layout="constrained")
    panels = list(figure.subplots(len(heights), 1, sharex=True, gridspec_kw={"height_ratios": heights}))
    _draw_perplexity(panels[0], records)
    if scored:
        _draw_score(panels[1], records)
    _draw_rate(panels[-1], records)
    panels[-1].set_xlabel("update")
    panels[-1].set_xlim(left=0)
    panels[-1].xaxis.get_major_locator().set_params(integer=True)
    for panel in panels:
        _style(panel)
    figure.align_ylabels(panels)
    with replacing(picture) as temporary:
        figure.savefig(temporary, format="png")  # the temporary name has no ending to tell the format by


def read_records(metrics_file: Path) -> Records:
    """Read metrics.jsonl; a missing file holds no records.

    A line cut short by a kill is left out. Where training was resumed at an earlier update than it had
    reached, what it writes anew replaces all records of that update and later ones.
    """
    records = Records([], [], [])
    lines = metrics_file.read_bytes().split(b"\n") if metrics_file.exists() else []
    for line in lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(record, dict):
            continue
        if record.get("kind") == "average":
            records.average.append(record)
        elif record.get("kind") in ("train", "validation") and _can_be_drawn(record.get("update"), int):
            kept: list[Record] = getattr(records, record["kind"])
            if kept and kept[-1]["update"] >= record["update"]:
                for stale in (records.train, records.validation):
                    stale[:] = [earlier for earlier in stale if earlier["update"] < record["update"]]
            kept.append(record)
    return records


def _can_be_drawn(value: Any, type_: Any) -> bool:
    """Tell whether a value is a number of a size that leaves room to compute the limits of an axis."""
    return isinstance(value, type_) and abs(value) <= LARGEST


def _series(records: list[Record], key: str, *, positive: bool = False) -> Series:
    """Return the values of a key that can be drawn, with their updates; with `positive`, those a log scale can show."""
    points = [
        (record["update"], record[key])
        for record in records
        if _can_be_drawn(record.get(key), int | float) and (record[key] > 0 or not positive)
    ]
    return Series([update for update, _ in points], [value for _, value in points])


def _draw_perplexity(panel: "Axes", records: Records) -> None:
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    train = _series(records.train, "perplexity", positive=True)
    dev = _series(records.validation, "perplexity", positive=True)
    panel.set_ylabel("perplexity (log scale)")
    if not train.values and not dev.values:
        panel.text(0.5, 0.5, "no records yet", transform=panel.transAxes, ha="center", color=GREY)
        return
    _line(panel, train, BLUE, "training")
    if dev.values:
        lowest = min(dev.values)
        update = dev.updates[dev.values.index(lowest)]
        _line(panel, dev, ORANGE, f"development, lowest: {lowest:.2f} at update {update:,}", marked=True)
    panel.set_yscale("log")
    values = train.values + dev.values
    panel.set_ylim(bottom=min(values) / 1.2, top=min(max(values), SHOWN_RANGE * min(values)) * 1.2)
    panel.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 3.0, 5.0)))
    panel.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.legend(loc="upper right", frameon=False)


def _draw_score(panel: "Axes", records: Records) -> None:
    """Draw the development score, its best value and, as a level, that of the averaged weights."""
    scored = _series(records.validation, "score")
    name = next((str(record["metric"]) for record in records.validation if record.get("metric")), "score")
    name = name.replace("$", r"\$")  # which begins a formula
    _line(panel, scored, GREEN, f"{name}, development", marked=True)
    best = [record["update"] for record in records.validation if record.get("best")]
    if best and best[-1] in scored.updates:
        value = scored.values[scored.updates.index(best[-1])]
        label = f"best: {value:.2f} at update {best[-1]:,}"
        panel.plot(best[-1], value, "*", color=GREEN, markersize=14, label=label)
    level = records.average[-1].get("score") if records.average else None
    if isinstance(level, int | float) and _can_be_drawn(level, int | float):
        label = f"averaged weights: {level:.2f}"
        panel.axhline(level, color=GREY, linestyle="--", linewidth=1.2, label=label)
    panel.set_ylabel(name)
    panel.margins(y=0.12)
    panel.legend(loc="best", frameon=False)


def _draw_rate(panel: "Axes", records: Records) -> None:
    _line(panel, _series(records.train, "learning_rate"), GREY, "learning rate")
    panel.set_ylabel("learning rate")
    panel.set_ylim(bottom=0)
    panel.ticklabel_format(axis="y", style="sci", scilimits=(-3, 3), useMathText=True)


def _line(panel: "Axes", series: Series, color: str, label: str, *, marked: bool = False) -> None:
    if series.values:
        marker = "o" if marked or len(series.values) == 1 else ""  # a single point draws no line
        panel.plot(*series, color=color, label=label, linewidth=1.6, marker=marker, markersize=3.5)


def _style(panel: "Axes") -> None:
    from matplotlib.ticker import FuncFormatter

    panel.grid(visible=True, color="#dddddd", linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    panel.xaxis.set_major_formatter(FuncFormatter(lambda update, _: f"{update:,.0f}"))

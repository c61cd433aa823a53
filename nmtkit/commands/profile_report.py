"""The report of `nmtkit train --profile`: its facts, as JSON has them, and its text."""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from nmtkit.log import counted
from nmtkit.training.accounting import ACCUMULATION, Phase, Share
from nmtkit.training.profiling import Profile
from nmtkit.training.scopes import BETWEEN

OPERATORS = 10
"""Operators that are shown, the most expensive ones."""

SMALL = 0.005
"""Parts with a smaller share than this are shown as one."""

PIPED_WIDTH = 160
"""Columns of the text where no terminal says how many there are."""

_PHASES: tuple[Phase, ...] = ("waiting for data", "forward", "backward", "optimizer", "other")
_LAST = (BETWEEN, ACCUMULATION)
"""Parts that are none of the model."""


def facts(profile: Profile) -> dict[str, Any]:
    """Return what a profile says, everything for one update; times in seconds."""
    cost, account, count = profile.cost, profile.account, profile.cost.updates
    phases: dict[str, float] = {phase: account.of_phase(phase) / count for phase in _PHASES}
    if account.kernels:
        phases["idle"] = profile.idle / count
    return {
        "updates": count,
        "pairs": cost.pairs / count,
        "tensors": cost.tensors / count,
        "source_tokens": cost.source_tokens / count,
        "target_tokens": cost.target_tokens / count,
        "padding": cost.padding,
        "seconds": profile.seconds / count,
        "seconds_profiled": account.seconds / count,
        "source_tokens_per_second": cost.source_tokens / profile.seconds,
        "target_tokens_per_second": cost.target_tokens / profile.seconds,
        "target_tokens_per_second_profiled": cost.target_tokens / account.seconds,
        "peak_memory_bytes": profile.memory,
        "flops": profile.flops / count,
        "flops_per_second": profile.flops / profile.seconds,
        "peak_flops_per_second": profile.peak,
        "model_flop_utilisation": profile.utilisation,
        "times_are_of": "GPU" if account.kernels else "processor",
        "seconds_waiting_for_data": account.waiting / count,
        "phases": phases,
        "parts": _parts(profile),
        "operators": _operators(profile),
    }


def _parts(profile: Profile) -> list[dict[str, Any]]:
    """Return the parts of the model with their forward and backward seconds, the most expensive first."""
    shares, count = profile.account.shares, profile.cost.updates
    names = {share.part for share in shares if share.phase in ("forward", "backward")}
    parts = [
        {
            "part": name,
            "forward": shares.get(Share("forward", name), 0.0) / count,
            "backward": shares.get(Share("backward", name), 0.0) / count,
        }
        for name in names
    ]
    return sorted(parts, key=lambda part: (part["part"] in _LAST, -part["forward"] - part["backward"], part["part"]))


def _operators(profile: Profile) -> list[dict[str, Any]]:
    """Return the most expensive operators with the shapes of their inputs."""
    usages = sorted(profile.account.operators.items(), key=lambda item: -item[1].seconds)[:OPERATORS]
    count = profile.cost.updates
    return [
        {
            "operator": name,
            "shapes": [list(shape) for shape in shapes if shape],
            "calls": usage.calls / count,
            "seconds": usage.seconds / count,
            "flops_per_second": usage.flops / usage.seconds if usage.flops and usage.seconds else None,
        }
        for (name, shapes), usage in usages
    ]


def show(said: dict[str, Any]) -> None:
    """Write the facts, and what was computed with, as text to stdout."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPED_WIDTH)
    with console.capture() as captured:
        for table in (_summary(said), _times(said), _most_expensive(said)):
            console.print(table)
            console.print()
        for line in _remarks(said):
            console.print(line, markup=False, style="dim")
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().rstrip().split("\n")))


def _summary(said: dict[str, Any]) -> Table:
    table = Table.grid(padding=(0, 2))
    threads = f", {counted(said['threads'], 'thread')}" if said["device"] == "cpu" else ""
    updates, ms = counted(said["updates"], "update"), _milliseconds(said["seconds"])
    plain, profiled = said["seconds"], said["seconds_profiled"]
    memory = said["peak_memory_bytes"]
    rows = {
        "computed": f"{said['model']} on {said['device']} in {said['precision']}{threads}, {updates}",
        "an update": f"{said['source_tokens']:,.0f} source + {said['target_tokens']:,.0f} target tokens, "
        f"{said['tensors']:.1f} tensors, padding {said['padding']:.1%}",
        "time": f"{ms(plain)} ms an update; under the profiler {ms(profiled)} ms, {profiled / plain - 1:+.1%}",
        "tokens a second": f"{said['source_tokens_per_second']:,.0f} source, "
        f"{said['target_tokens_per_second']:,.0f} target; under the profiler "
        f"{said['target_tokens_per_second_profiled']:,.0f} target",
        "peak memory": "unknown" if memory is None else f"{memory / 1e9:.2f} GB",
        "model FLOPs": f"{_flops(said['flops'])} an update, {_flops(said['flops_per_second'])}/s",
        "matrix peak": f"{_flops(said['peak_flops_per_second'])}/s, by large products in {said['precision']} just now",
        "utilisation": f"{said['model_flop_utilisation']:.1%} of that peak",
    }
    for name, text in rows.items():
        table.add_row(name, text)
    return table


def _times(said: dict[str, Any]) -> Table:
    """Return the table of phases and parts: a line for each, and their sum."""
    whole = sum(said["phases"].values())
    ms = _milliseconds(whole)

    def add(name: str, both: Sequence[float], seconds: float) -> None:
        columns = [ms(part) for part in both] or ["", ""]
        table.add_row(name, *columns, ms(seconds), f"{seconds / whole:.1%}")

    table = table_of("part", "forward", "backward", "ms", "share")
    small = [0.0, 0.0]
    for part in said["parts"]:
        both = part["forward"], part["backward"]
        if sum(both) < SMALL * whole:
            small = [ours + theirs for ours, theirs in zip(small, both, strict=True)]
        else:
            add(part["part"], both, sum(both))
    if any(small):
        add("smaller parts", small, sum(small))
    table.add_row()
    phases = dict(said["phases"])
    model = phases.pop("forward"), phases.pop("backward")
    add("model", model, sum(model))
    for name, seconds in phases.items():
        add(name, (), seconds)
    table.add_row()
    add("together", (), whole)
    return table


def _most_expensive(said: dict[str, Any]) -> Table:
    whole = sum(said["phases"].values())
    ms = _milliseconds(whole)
    table = table_of("operator", "calls", "ms", "share", "GFLOP/s")
    table.add_column("shapes", overflow="fold")
    for one in said["operators"]:
        speed = one["flops_per_second"]
        table.add_row(
            one["operator"].removeprefix("aten::"),
            f"{one['calls']:,.1f}",
            ms(one["seconds"]),
            f"{one['seconds'] / whole:.1%}",
            "" if speed is None else f"{speed / 1e9:,.1f}",
            " ".join("×".join("·" if size is None else str(size) for size in shape) for shape in one["shapes"]),
        )
    return table


def table_of(first: str, *numbers: str) -> Table:
    """Return a table with a column of names and others of numbers, by their heads."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(first, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _remarks(said: dict[str, Any]) -> Iterator[str]:
    if said["times_are_of"] == "GPU":
        waiting = _milliseconds(said["seconds"])(said["seconds_waiting_for_data"])
        yield "Times are of the GPU, by what asked for its work; it is idle while the processor prepares more."
        yield f"The processor waited {waiting} ms for data."
    else:
        yield "Times are of an update under the profiler and hold its own, most of it where operators are small."
    yield "Backward is charged to the part whose forward it undoes. A dot is a size that varies with the batch."


def _milliseconds(whole: float) -> Callable[[float], str]:
    """Return how seconds are written as parts of a whole."""
    places = 1 if whole >= 0.1 else 2 if whole >= 0.01 else 3
    return lambda seconds: f"{seconds * 1e3:,.{places}f}"


def _flops(number: float) -> str:
    for unit, size in (("PFLOP", 1e15), ("TFLOP", 1e12), ("GFLOP", 1e9)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number / 1e6:.3g} MFLOP"

"""The report of `nmtkit train --plan`: its facts as text."""

import math
import sys
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.table import Table

from nmtkit.commands.profile_report import PIPED_WIDTH, table_of
from nmtkit.log import counted, duration

GPU_SIZES = (8, 11, 12, 16, 24, 32, 40, 48, 80, 96, 141, 192)
"""Memory of GPUs that there are, in GB."""


def show(said: dict[str, Any]) -> None:
    """Write the facts as text to stdout."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPED_WIDTH)
    with console.capture() as captured:
        for table in (_summary(said), _parameters(said), _memory(said), _training(said)):
            console.print(table)
            console.print()
        for line in _remarks(said):
            console.print(line, markup=False, style="dim")
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().rstrip().split("\n")))


def _summary(said: dict[str, Any]) -> Table:
    sizes = said["vocabulary"]
    return _grid(
        {
            "planned": f"{said['model']} on {_devices(said)}, in {said['precision']}",
            "vocabulary": f"{_sizes(sizes['source'], sizes['target'])} ({sizes['by']})",
            "an update": _update(said["update"]),
            "each device": _of_a_process(said),
            "an epoch": _epoch(said),
        }
    )


def _devices(said: dict[str, Any]) -> str:
    """Return what a training is planned for: 8 GPUs, a model on each."""
    processes = said["processes"]
    if said["device"] == "cuda":
        where = counted(processes, "GPU")
    else:
        where = "the processor" if processes == 1 else f"{processes:,} processes on the processor"
    how = {"replicate": ", all of the model on each", "shard": ", a part of the model on each"}[said["parallel"]]
    return where + (how if processes > 1 else "")


def _sizes(source: int, target: int) -> str:
    if source == target:
        return f"{source:,} pieces"
    return f"{source:,} source and {target:,} target pieces"


def _update(update: dict[str, Any]) -> str:
    if "pairs" not in update:
        return f"at most {update['tokens_at_most']:,} source and as many target tokens, padding included"
    return (
        f"on average {update['pairs']:,.0f} pairs, {update['source_tokens']:,.0f} source and "
        f"{update['target_tokens']:,.0f} target tokens (at most {update['tokens_at_most']:,} with padding, which is "
        f"{update['padding']:.1%}) in {update['tensors']:.1f} tensors"
    )


def _of_a_process(said: dict[str, Any]) -> str:
    ways, steps = said["memory"], said["update"]["tensors_of_a_process"]
    tensor = ways.get(said["parallel"], ways["replicate"])["tensor"]
    largest = f"{tensor['pairs']:,} pairs of {tensor['source']:,} and {tensor['target']:,} positions"
    return f"{steps:.1f} tensors one after another in an update; the largest are of {largest}"


def _epoch(said: dict[str, Any]) -> str:
    epoch = said["epoch"]
    if epoch is None:
        return f"not known: {said['no_text']}"
    about = "" if epoch["exact"] else "about "
    return f"{epoch['pairs']:,} pairs in {about}{round(epoch['updates']):,} updates"


def _parameters(said: dict[str, Any]) -> Table:
    whole = said["parameters"]
    table = table_of("parameters", "", "")
    for part, count in said["parameters_by_part"].items():
        table.add_row(part, f"{count:,}", f"{count / whole:.1%}")
    table.add_row()
    table.add_row("together", f"{whole:,}", "")
    if said["parameters_trained"] != whole:
        table.add_row("not frozen", f"{said['parameters_trained']:,}", "")
    return table


def _memory(said: dict[str, Any]) -> Table:
    """Return the table of memory: a column for each way in which processes can train a model."""
    ways = said["memory"]
    alone = len(ways) == 1
    table = table_of("GB of each device", *("" if alone else _titled(name, said["parallel"]) for name in ways))
    parts = dict.fromkeys(part for way in ways.values() for part in way["parts"])
    for part in parts:
        table.add_row(part, *(_gigabytes(way["parts"].get(part, 0)) for way in ways.values()))
    table.add_row()
    table.add_row("together", *(_gigabytes(way["together"]) for way in ways.values()))
    if said["device"] == "cuda":
        table.add_row("fits a GPU of", *(_fitting(way["together"]) for way in ways.values()))
    elif said["processes"] > 1:
        table.add_row("all processes", *(_gigabytes(said["processes"] * way["together"]) for way in ways.values()))
    return table


def _titled(way: str, chosen: str) -> str:
    return f"{way} (chosen)" if way == chosen else way


def _fitting(size: int) -> str:
    fitting = next((each for each in GPU_SIZES if size <= each * 10**9), None)
    return f"{fitting} GB" if fitting else "none"


def _training(said: dict[str, Any]) -> Table:
    training, disk = said["training"], said["checkpoints"]
    rows = {"training": _length(training), "speed": _speed(training), "time": _time(training)}
    rows["checkpoints"] = (
        f"{_gigabytes(disk['training'])} GB on the disk while training goes well, at most "
        f"{_gigabytes(disk['most'])} GB, {_gigabytes(disk['finished'])} GB in the end; one takes "
        f"{_gigabytes(disk['weights'])} GB, and {_gigabytes(disk['optimizer'])} GB more to go on from"
    )
    if said["device"] == "cuda":
        rows["the machine"] = f"{_gigabytes(said['checkpoint_copy'])} GB of its memory for a copy of a checkpoint"
    return _grid({name: text for name, text in rows.items() if text})


def _length(training: dict[str, Any]) -> str:
    if training["updates"] is None:
        return "until the first limit of train.stop, which cannot be foreseen"
    epochs = "" if training["epochs"] is None else f", {training['epochs']:,.1f} epochs"
    behind = f", {training['behind']:,} of them behind" if training["behind"] else ""
    tokens = f"{training['target_tokens']:.3g}"
    return f"{training['updates']:,} updates ({training['limit']}){behind}{epochs}, some {tokens} target tokens"


def _speed(training: dict[str, Any]) -> str:
    if training["seconds_per_update"] is None:
        return str(training["pace_by"])
    return (
        f"{training['target_tokens_per_second']:,.0f} target tokens a second, {training['seconds_per_update']:.3g} s "
        f"an update ({training['pace_by']})"
    )


def _time(training: dict[str, Any]) -> str:
    if training["seconds_left"] is None:
        return ""
    end = "" if training["end"] is None else f", until {datetime.fromisoformat(training['end']):%Y-%m-%d %H:%M}"
    return f"{duration(training['seconds_left'])}{end} if it begins now"


def _remarks(said: dict[str, Any]) -> Iterator[str]:
    if said["device"] == "cuda":
        yield (
            "Memory by formula. That of tensors was held against trainings on processors; what the CUDA context and "
            "PyTorch's allocator add was not measured. Layers that are compiled (train.compile) may keep less."
        )
    elif said["recompute"]:
        yield "Memory by formula; what is freed goes back to the system (train.recompute)."
    else:
        yield (
            "Memory by formula; the allocator's part is a mean, and up to twice as much. With MALLOC_MMAP_THRESHOLD_="
            "262144 in the environment next to nothing is lost to it, and training is slower by 10 to 50 %."
        )
    yield "A validation takes what translate.batch_tokens asks for, when activations are not there; it is not counted."
    if "pairs" not in said["update"]:
        yield "Sentences are taken to be as long as makes the most; with prepared data all is more exact."


def _grid(rows: dict[str, str]) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, text in rows.items():
        table.add_row(name, text)
    return table


def _gigabytes(size: float) -> str:
    """Return bytes in GB, to three digits or so."""
    number = size / 1e9
    places = 2 if not number else max(0, min(3, 2 - math.floor(math.log10(abs(number)))))
    return f"{number:,.{places}f}"

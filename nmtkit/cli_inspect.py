"""The command `inspect` of the command line: its options."""

from pathlib import Path
from typing import Annotated

import typer

from nmtkit.cli_options import ConfigFile, RunPath, Settings
from nmtkit.errors import ConfigError


def inspect(  # noqa: PLR0913, PLR0917
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[RUN [OTHER]]", help="Show the card of a run folder, or in what two of them differ."),
    ] = None,
    pair: Annotated[
        list[str] | None, typer.Option(metavar="N", help="Show this pair; or pairs: 3,5-8. Repeatable.")
    ] = None,
    batch: Annotated[int | None, typer.Option(min=1, metavar="N", help="Show this update of an epoch.")] = None,
    line: Annotated[
        list[str] | None,
        typer.Option(metavar="CORPUS:LINE", help="Explain what became of a line of a corpus. Repeatable."),
    ] = None,
    epoch: Annotated[int, typer.Option(min=1, metavar="N", help="The epoch of --batch.")] = 1,
    dev: Annotated[bool, typer.Option("--dev", help="Pairs of the development set, not of training.")] = False,
    config: ConfigFile = None,
    run: RunPath = None,
    settings: Settings = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Show a run, prepared pairs, a batch, or why a line was dropped.

    With RUN, what it takes to repeat a training and to judge it; with OTHER too, in what the two differ. RUN may also
    be the run.json of a run. Pairs, updates and lines are counted from 1.
    """
    if [bool(runs), bool(pair), batch is not None, bool(line)].count(True) != 1:
        raise ConfigError("RUN, --pair N, --batch N or --line CORPUS:LINE: give one of them")
    if dev and not pair:
        raise ConfigError("--dev: goes with --pair only; name lines of the development set as --line NAME:LINE")
    if runs:
        if config or run or settings:
            raise ConfigError("RUN: a run card holds its own settings; leave --config, --run and --set away")
        _inspect_runs(runs, as_json=as_json)
        return
    from nmtkit.config import to_train

    place = to_train(config, run, settings or ())
    from nmtkit.commands import inspect as commands

    if pair:
        commands.inspect_pairs(place.config, place.run, typer.echo, numbers=pair, dev=dev, as_json=as_json)
    elif line:
        commands.inspect_lines(place.config, place.base, place.run, typer.echo, lines=line, as_json=as_json)
    else:
        number = batch or 1
        commands.inspect_batch(place.config, place.run, typer.echo, number=number, epoch=epoch, as_json=as_json)


def _inspect_runs(runs: list[Path], *, as_json: bool) -> None:
    if len(runs) > 2:
        raise ConfigError(f"{len(runs)} runs: give one to see its card, or two to see in what they differ")
    from nmtkit.commands.inspect_run import compare_runs, inspect_run

    if len(runs) == 2:
        compare_runs(runs[0], runs[1], typer.echo, as_json=as_json)
    else:
        inspect_run(runs[0], typer.echo, as_json=as_json)

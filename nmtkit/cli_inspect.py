"""The command `inspect` of the command line: its options."""

from typing import Annotated

import typer

from nmtkit.cli_options import ConfigFile, RunPath, Settings
from nmtkit.errors import ConfigError


def inspect(  # noqa: PLR0913, PLR0917
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
    """Show prepared pairs, or a batch, or why a line was dropped.

    Pairs, updates and lines are counted from 1.
    """
    if [bool(pair), batch is not None, bool(line)].count(True) != 1:
        raise ConfigError("--pair N, --batch N or --line CORPUS:LINE: give one of them")
    if dev and not pair:
        raise ConfigError("--dev: goes with --pair only; name lines of the development set as --line NAME:LINE")
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

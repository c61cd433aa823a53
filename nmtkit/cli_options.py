"""Options that several commands have."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from nmtkit.log import Log

_SETTINGS = "Settings"
"""The group of options, in the help, that say which settings and which run are meant."""

ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Config file.  [default: nmtkit.toml]", rich_help_panel=_SETTINGS),
]
RunPath = Annotated[
    Path | None,
    typer.Option(
        "--run", metavar="DIR", help="Run folder.  [default: run, beside the config file]", rich_help_panel=_SETTINGS
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting that wins over the config file, as train.seed=3; repeatable.",
        rich_help_panel=_SETTINGS,
    ),
]
Device = Annotated[str, typer.Option(metavar="NAME", help="Where to compute: auto, cpu, cuda or cuda:N.")]
Gpus = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Train on the first N GPUs of this machine, in a process each.")
]
Processes = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Train in N processes on the processor, which share its cores."),
]
Checkpoint = Annotated[
    str | None, typer.Option(metavar="NAME", help="Weights: auto, average, best, last, or the number of an update.")
]
MaxMinutes = Annotated[
    float | None,
    typer.Option(metavar="M", help="Minutes from the first update until all is validated and averaged."),
]
InitFrom = Annotated[
    Path | None,
    typer.Option(metavar="RUN", help="Begin with the weights of another run folder (fine-tuning; see train.init)."),
]
Quiet = Annotated[
    bool | None,
    typer.Option(
        "--quiet/--verbose", "-q/-v", help="Say only what must be known / say everything.", show_default=False
    ),
]


def as_settings(**options: Any) -> list[str]:
    """Return the settings that were given by options of their own (a__b for a.b), as `--set` would give them."""
    from nmtkit.toml import inline

    given = {name.replace("__", "."): value for name, value in options.items() if value is not None}
    return [f"{key}={inline(value)}" for key, value in given.items()]


def as_log(quiet: bool | None) -> "Log":
    """Return the log that `--quiet` or `--verbose` asks for."""
    from nmtkit.log import Log

    if quiet is None:
        return Log()
    return Log("quiet" if quiet else "verbose")

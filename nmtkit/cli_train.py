"""The command `train` of the command line: its options."""

import os
import sys
from collections.abc import Mapping
from typing import Annotated

import typer

from nmtkit.cli_options import (
    ConfigFile,
    Device,
    Gpus,
    InitFrom,
    MaxMinutes,
    Processes,
    Quiet,
    RunPath,
    Settings,
    as_log,
    as_settings,
)
from nmtkit.errors import ConfigError


def train(  # noqa: PLR0913, PLR0917  one parameter for each option
    config: ConfigFile = None,
    run: RunPath = None,
    settings: Settings = None,
    max_minutes: MaxMinutes = None,
    init_from: InitFrom = None,
    profile: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Train nothing: print where the time of N updates goes, and how fast."),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Train nothing: print what it would take in memory, time and disk.")
    ] = False,
    tokens_per_second: Annotated[
        float | None,
        typer.Option(min=1e-3, metavar="N", help="With --plan: target tokens a second, of all devices together."),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="With --plan: measure that on this processor, in some seconds.")
    ] = False,
    vocabulary: Annotated[
        int | None,
        typer.Option(min=8, metavar="N", help="With --plan: pieces of each vocabulary, where none is prepared."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --profile or --plan: write JSON.")] = False,
    device: Device = "auto",
    gpus: Gpus = None,
    processes: Processes = None,
    quiet: Quiet = None,
) -> None:
    """Train a model on what prepare made.

    A training that was interrupted goes on from its last checkpoint. On several machines torchrun or srun starts the
    processes, and neither --gpus nor --processes is needed.
    """
    from nmtkit.config import to_train

    if as_json and profile is None and not plan:
        raise ConfigError("--json: goes with --profile N or --plan; a training writes its figures to RUN/metrics.jsonl")
    if plan and profile is not None:
        raise ConfigError("--plan and --profile: the one computes nothing, the other does; give one of them")
    asked_of_plan = {"--tokens-per-second": tokens_per_second, "--measure": measure, "--vocabulary": vocabulary}
    _check_plan_options(asked_of_plan, plan=plan)
    # A path on the command line is seen from here, one in the config file from there.
    begun_with = None if init_from is None else str(init_from.absolute())
    aliases = as_settings(train__stop__minutes=max_minutes, train__init__run=begun_with)
    place = to_train(config, run, [*(settings or ()), *aliases])
    from nmtkit.commands.train_processes import asked, train_in_processes
    from nmtkit.training.membership import membership

    member = membership(os.environ)
    if plan:
        if member is not None and member.rank:
            return  # of several processes the first prints it
        from nmtkit.commands.train_plan import Given, planned_hardware
        from nmtkit.commands.train_plan import plan as run_plan

        hardware = planned_hardware(gpus, processes, device, member)
        given = Given(hardware, vocabulary, tokens_per_second, measure)
        run_plan(place.config, place.run, as_log(quiet), given, as_json=as_json)
        return
    where = asked(gpus, processes, device, member)
    if profile is not None:
        if member is not None or where.processes > 1:
            raise ConfigError("--profile: looks into one process; start one, without --gpus, --processes and torchrun")
        from nmtkit.commands.train_profile import profile as run_profile

        run_profile(place.config, place.run, as_log(quiet), updates=profile, device=where.device, as_json=as_json)
        return
    if where.processes > 1:
        train_in_processes(sys.argv[1:], where.processes, as_log(quiet))
        return
    if member is not None:  # torch, imported next, would put a stack in C++ beside what we say of a lost process
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    from nmtkit.commands.train import train as run_train

    run_train(place.config, place.base, place.run, as_log(quiet), device=where.device, membership=member)


def _check_plan_options(asked: Mapping[str, float | None], *, plan: bool) -> None:
    """Raise ConfigError where options of --plan are given without it, or contradict each other."""
    given = [name for name, value in asked.items() if value]
    if given and not plan:
        raise ConfigError(f"{given[0]}: goes with --plan")
    if {"--measure", "--tokens-per-second"} <= set(given):
        raise ConfigError("--measure and --tokens-per-second: either a rate is measured or given; give one of them")

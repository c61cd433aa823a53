"""The run card of a training: what its settings, its data and this machine put on it."""

import os
import shlex
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import torch

from nmtkit.commands.run_page import page
from nmtkit.commands.train_parts import Parts
from nmtkit.commands.train_summary import parameters_by_part
from nmtkit.config import Config, dump
from nmtkit.data.manifest import load_manifest
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder
from nmtkit.training.energy import EnergyMeter, find_counters
from nmtkit.training.machine import gpu_numbers, machine, software
from nmtkit.training.run_card import RunCard, data_facts
from nmtkit.training.state import Origin


def open_card(
    config: Config,
    run: RunFolder,
    log: Log,
    *,
    parts: Parts,
    origin: Origin,
    device: torch.device,
    hosts: Sequence[str] = (),
) -> RunCard:
    """Return the card of a training, for the process that writes it.

    `hosts` has the name of the host of each process, by rank; none: there is but this one.
    """
    facts = {
        "software": software(),
        "config": tomllib.loads(dump(config)),
        **data_facts(load_manifest(run.manifest)),
        "model": {
            "kind": config.model.kind,
            "parameters": parameters_by_part(parts.model),
            "initial": origin.initial,
        },
        "training": {"precision": origin.precision},
    }
    session = {
        "command": command_line(sys.argv),
        "folder": _folder(),
        "machine": machine(device, kernels=parts.kernels is not None, hosts=hosts),
    }
    gpus = gpu_numbers(device, hosts.count(hosts[0]) if hosts else 1)
    return RunCard(run, facts, session, meter=EnergyMeter(find_counters(gpus)), page=page, log=log)


def command_line(arguments: Sequence[str]) -> str | None:
    """Return how nmtkit was called, to be typed again; None where another program calls it."""
    program = Path(arguments[0]) if arguments else Path()
    if program.stem != "nmtkit" and program.parts[-2:] != ("nmtkit", "__main__.py"):
        return None
    return _as_text(shlex.join(["nmtkit", *arguments[1:]]))


def _folder() -> str | None:
    """Return the working directory, from which relative names start; None where somebody deleted it."""
    try:
        return _as_text(str(Path.cwd()))
    except OSError:
        return None


def _as_text(name: str) -> str:
    """Return what the system gave as text: bytes of a name that are not UTF-8 are shown as such."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")

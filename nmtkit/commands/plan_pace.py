"""How fast a planned training will be: as was given, as is measured now, or as an earlier one was."""

import time
import tomllib
from collections.abc import Iterator
from typing import NamedTuple

import torch

from nmtkit.api import Segmenters
from nmtkit.commands.plan_material import Hardware, Material, Text, UpdatePlan
from nmtkit.commands.train_parts import assemble
from nmtkit.config import Config, dump
from nmtkit.data.batch import Part
from nmtkit.data.position import Position
from nmtkit.data.resegmenting import build_resegmenter
from nmtkit.errors import ConfigError
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder
from nmtkit.training.card_files import card_in
from nmtkit.training.changes import changes
from nmtkit.training.engine import Engine
from nmtkit.training.feeding import Material as Feeding
from nmtkit.training.feeding import Reader, feeds
from nmtkit.training.outlook import Pace, pace_of

SECONDS = 10.0
"""How long is measured, behind a first tensor that prepares the others."""

DECIDING = (
    "model",
    "prepare",
    "train.batch",
    "train.sampling",
    "train.precision",
    "train.kernels",
    "train.parallel",
    "train.recompute",
    "train.compile",
    "train.freeze",
)
"""Settings that decide how fast updates are."""

NO_RATE = "give --tokens-per-second"


class Told(NamedTuple):
    """How fast training will be, and what says so; without a pace, why nothing does."""

    pace: Pace | None
    by: str


def given_pace(tokens_per_second: float, update: UpdatePlan) -> Told:
    """Return a pace that was given in target tokens a second."""
    return Told(Pace(tokens_per_second, update.target_tokens / tokens_per_second), "--tokens-per-second")


def measured_pace(config: Config, hardware: Hardware, material: Material, update: UpdatePlan, log: Log) -> Told:
    """Compute some tensors on this machine's processor, as training would, and return the pace.

    Raises ConfigError where the plan is for other devices or there is nothing to compute.
    """
    if hardware.device == "cuda":
        raise ConfigError(
            "--measure: measures the processor of this machine, but the plan is for GPUs; `nmtkit train --profile N` "
            "tells how fast one is, then give --tokens-per-second"
        )
    if material.text is None:
        raise ConfigError(f"--measure: needs text, but {material.missing}; run `nmtkit prepare` first")
    log.info(f"measuring for some {SECONDS:.0f} seconds")
    pace = _measure(config, material.text, update, log)
    # Processes share the cores of the machine, as threads of one process do.
    return Told(pace, "measured now" + ("" if hardware.processes == 1 else ", in one process with all cores"))


def _measure(config: Config, text: Text, update: UpdatePlan, log: Log) -> Pace:
    segmenters = Segmenters(*text.prepared.segmenters)
    device = torch.device("cpu")
    parts = assemble(config, segmenters, device, log)
    parallel, optimizer, width = parts.learner
    parallel.model.train()
    engine = Engine(parallel, optimizer, config.train, parts.precision, device, parts.kernels)
    engine.warn = log.warn
    resegment = build_resegmenter(*segmenters, config.train.sampling, seed=config.train.seed)
    tensors = _tensors(Feeding(text.prepared.store, text.batches, resegment))
    rate = config.train.schedule.rate(1, width, 0.0)
    # The first step makes the optimizer's tensors.
    engine.step(engine.gradients([next(tensors)], 1, 1), rate)
    tokens, began = 0, time.perf_counter()
    while not tokens or time.perf_counter() - began < SECONDS:
        part = next(tensors)
        outcome = engine.gradients([part], 1, 1)
        tokens += int(part.batch.target.lengths.sum())
    of_tensors = time.perf_counter() - began
    engine.step(outcome, rate)
    of_a_step = time.perf_counter() - began - of_tensors
    seconds = update.target_tokens * of_tensors / tokens + of_a_step
    return Pace(update.target_tokens / seconds, seconds)


def _tensors(material: Feeding) -> Iterator[Part]:
    """Yield the tensors of training one by one."""
    for feed in feeds(material, Position(), Reader(torch.device("cpu"))):
        yield from feed.parts


def earlier_pace(config: Config, run: RunFolder, hardware: Hardware) -> Told:
    """Return the pace of an earlier training in the run folder, if it was one like this."""
    if not run.card.is_file():
        return Told(None, f"not known; {NO_RATE}")
    card = card_in(run.card.read_bytes())
    try:
        assert card is not None
        machine = card["sessions"][-1]["machine"]
        there = Hardware(machine["device"], machine["processes"])
        found = [change.key for change in changes(card["config"], tomllib.loads(dump(config)))]
    except (AssertionError, KeyError, TypeError, IndexError, AttributeError):
        return Told(None, f"not known, {run.card} cannot be read; {NO_RATE}")
    if there != hardware:
        elsewhere = f"{there.processes} × {there.device}"
        return Told(None, f"not known, {run} was trained elsewhere ({elsewhere}); {NO_RATE}")
    others = [key for key in found if any(key == own or key.startswith(f"{own}.") for own in DECIDING)]
    if others:
        return Told(None, f"not known, {run} was trained with another {', '.join(others)}; {NO_RATE}")
    pace = pace_of(run.metrics)
    if pace is None:
        return Told(None, f"not known, {run.metrics} has too few records; {NO_RATE}")
    return Told(pace, f"{run.metrics}, validations and checkpoints included")

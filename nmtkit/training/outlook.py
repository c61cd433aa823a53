"""Outlook: how many updates a training will make, how long they will take, and what it will need on the disk."""

import math
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from nmtkit.models.activations import FLOAT
from nmtkit.training.checkpoints import RESUMABLE
from nmtkit.training.curve import read_records
from nmtkit.training.guard import WINDOW
from nmtkit.training.memory_estimate import MOMENTS
from nmtkit.training.settings import CheckpointConfig, StopConfig

RECENT = 50
"""Records of metrics.jsonl that tell how fast a training was."""


class Ending(NamedTuple):
    """Where training will end: behind so many updates, by which key of train.stop."""

    updates: int
    limit: str


def ending(stop: StopConfig, updates_per_epoch: float | None, seconds_per_update: float | None) -> Ending | None:
    """Return the earliest limit that can be foreseen from what is known, or None where none can.

    Patience cannot, nor epochs without the number of their updates, nor minutes without the time that one takes.
    """
    found = []
    if stop.updates:
        found.append(Ending(stop.updates, f"train.stop.updates = {stop.updates}"))
    if stop.epochs and updates_per_epoch is not None:
        found.append(Ending(math.ceil(stop.epochs * updates_per_epoch), f"train.stop.epochs = {stop.epochs}"))
    if stop.minutes and seconds_per_update:
        updates = math.floor(stop.minutes * 60 / seconds_per_update)
        found.append(Ending(updates, f"train.stop.minutes = {stop.minutes:g}"))
    return min(found, default=None)


class Pace(NamedTuple):
    """How fast an earlier training was."""

    target_tokens_per_second: float
    seconds_per_update: float
    """Validations and checkpoints included."""


def pace_of(metrics: Path) -> Pace | None:
    """Return how fast the latest updates in metrics.jsonl were; None where it does not tell."""
    keys = ("update", "seconds", "target_tokens_per_second")
    whole = (record for record in read_records(metrics).train if all(_is_measured(record.get(key)) for key in keys))
    records = list(whole)[-RECENT:]
    if len(records) < 2:
        return None
    first, last = records[0], records[-1]
    updates, seconds = last["update"] - first["update"], last["seconds"] - first["seconds"]
    if seconds <= 0:
        return None
    return Pace(median(record["target_tokens_per_second"] for record in records), seconds / updates)


def _is_measured(value: Any) -> bool:
    return isinstance(value, int | float) and 0 < value < math.inf


class Disk(NamedTuple):
    """Bytes of checkpoints."""

    weights: int
    """Of one checkpoint."""
    optimizer: int
    """Of one checkpoint that training can go on from, besides."""
    training: int
    """Of all there is while training goes well and one more is written."""
    most: int
    """The same while it does not, in its first updates, or where it was interrupted."""
    finished: int
    """Of what is left in the end, the average included."""


def checkpoint_disk(config: CheckpointConfig, parameters: int, trained: int) -> Disk:
    """Return what checkpoints of a model with so many parameters, `trained` of them not frozen, take on the disk.

    Kept are the newest `keep_last` regular ones, the `keep_best` and, until training ends, the newest of all and one to
    go back to; from that one on, `RESUMABLE` of them at least, with the optimizer's tensors (`checkpoints.prune`). It
    lies `WINDOW` updates back while all is well, else anywhere. One more is there while it is written; in the end, or
    where a finished training goes on, the average, and while it is replaced another.
    """
    weights, optimizer = FLOAT * parameters, MOMENTS * FLOAT * trained
    average = weights if config.average else 0
    chosen = config.keep_last + config.keep_best
    resumable = min(max(RESUMABLE, WINDOW // config.every + 2), chosen + 1)
    well = (chosen + 1 + 1) * weights + (resumable + 1) * optimizer
    not_well = (chosen + 2 + 1) * (weights + optimizer) + average
    averaging = (chosen + 1) * weights + RESUMABLE * optimizer + 2 * average
    finished = chosen * weights + RESUMABLE * optimizer + average
    return Disk(weights, optimizer, well, max(not_well, averaging), finished)

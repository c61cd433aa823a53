"""Stopping: when training ends, and how long that will take."""

from nmtkit.data.epochs import Progress
from nmtkit.run_folder import RunFolder
from nmtkit.training.checkpoints import average_is_current
from nmtkit.training.settings import StopConfig, TrainConfig
from nmtkit.training.state import TrainingState


def limit_reached(stop: StopConfig, state: TrainingState) -> str | None:
    """Return the key and value of the limit that the state has reached, or None. A limit of 0 is none."""
    if stop.updates and state.update >= stop.updates:
        return f"train.stop.updates = {stop.updates}"
    if stop.epochs and state.epoch >= stop.epochs:
        return f"train.stop.epochs = {stop.epochs}"
    if stop.minutes and state.seconds >= stop.minutes * 60:
        return f"train.stop.minutes = {stop.minutes:g}"
    if stop.patience and state.validations_without_gain >= stop.patience:
        return f"train.stop.patience = {stop.patience}"
    return None


def is_finished(run: RunFolder, config: TrainConfig, state: TrainingState, *, validating: bool) -> str | None:
    """Return the limit that ended a run whose every result stands, or None."""
    complete = not validating or state.validated == state.update
    averaged = config.checkpoints.average == 0 or average_is_current(run, state.update)
    return limit_reached(config.stop, state) if complete and averaged else None


def seconds_left(
    stop: StopConfig, state: TrainingState, progress: Progress, *, seconds_per_update: float
) -> float | None:
    """Return the seconds until the earliest limit that can be foreseen, or None where only patience ends training."""
    left = []
    if stop.updates:
        left.append((stop.updates - state.update) * seconds_per_update)
    if stop.epochs:
        left.append((stop.epochs - progress.epochs) * progress.updates_per_epoch * seconds_per_update)
    if stop.minutes:
        left.append(stop.minutes * 60 - state.seconds)
    return max(0.0, min(left)) if left else None

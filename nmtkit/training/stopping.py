"""Stopping: how much of training is spent, when it ends, and how long that will take."""

from nmtkit.data.epochs import Progress
from nmtkit.run_folder import RunFolder
from nmtkit.training.checkpoints import average_is_current
from nmtkit.training.settings import StopConfig, TrainConfig
from nmtkit.training.state import TrainingState

MARGIN = 1.1
"""By how much longer than the last time a validation or checkpoint may take when training ends."""


def spent(config: TrainConfig, state: TrainingState) -> float:
    """Return the share of training, 0 to 1, that is behind: by the limit of which most is; 0 under patience alone.

    It grows and reaches 1 where `limit_reached` names updates or epochs; where it names minutes, one more update would.
    A limit that is moved moves it too, as does the time kept for the ending.
    """
    return _share(config, state, state.update, state.passes)


def spent_amid(config: TrainConfig, state: TrainingState, progress: Progress) -> float:
    """Return the share that is spent in the middle of the next update, which leads from `state` to `progress`.

    So a share taken for a learning rate is neither 0 in the first update nor 1 in the last. Of time, what is behind
    counts: nobody knows how long an update will take, and the share must not fall with an update that was fast.
    """
    return _share(config, state, state.update + 0.5, (state.passes + progress.epochs) / 2)


def _share(config: TrainConfig, state: TrainingState, updates: float, passes: float) -> float:
    stop, shares = config.stop, [0.0]
    if stop.updates:
        shares.append(updates / stop.updates)
    if stop.epochs:
        shares.append(passes / stop.epochs)
    if stop.minutes:
        shares.append(state.seconds / (stop.minutes * 60 - seconds_kept(config, state)))
    return min(1.0, max(shares))


def seconds_kept(config: TrainConfig, state: TrainingState) -> float:
    """Return the time to keep for what follows the last update, judged by what took place so far.

    That is a validation and a checkpoint, as much again for the average (what it reads and writes is about as large as
    a checkpoint), and a checkpoint that may come before the last update. Where updates take longer now than at the
    latest validation, as on a machine that others keep busy, so will a validation. At most half of train.stop.minutes,
    so that something is learned whatever validations take.
    """
    stages = 2 if config.checkpoints.average else 1
    slower = state.update_seconds / state.validated_update_seconds if state.validated_update_seconds else 1.0
    stage = state.validation_seconds * max(1.0, slower) + state.checkpoint_seconds
    return min(MARGIN * stages * stage + state.checkpoint_seconds, config.stop.minutes * 30)


def seconds_needed(config: TrainConfig, state: TrainingState) -> float:
    """Return the time that training would have taken in the end, were it to end behind one more update."""
    return state.seconds + state.update_seconds + seconds_kept(config, state)


def limit_reached(config: TrainConfig, state: TrainingState) -> str | None:
    """Return the key and value of the limit that the state has reached, or None. A limit of 0 is none.

    Minutes are reached where one more update would not leave enough of them for the ending.
    """
    stop = config.stop
    if stop.updates and state.update >= stop.updates:
        return f"train.stop.updates = {stop.updates}"
    if stop.epochs and state.epoch >= stop.epochs:
        return f"train.stop.epochs = {stop.epochs}"
    if stop.minutes and seconds_needed(config, state) >= stop.minutes * 60:
        return f"train.stop.minutes = {stop.minutes:g}"
    if stop.patience and state.validations_without_gain >= stop.patience:
        return f"train.stop.patience = {stop.patience}"
    return None


def is_finished(run: RunFolder, config: TrainConfig, state: TrainingState, *, validating: bool) -> str | None:
    """Return the limit that ended a run whose every result stands, or None."""
    complete = not validating or state.validated == state.update
    averaged = config.checkpoints.average == 0 or average_is_current(run, state.update)
    return limit_reached(config, state) if complete and averaged else None


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

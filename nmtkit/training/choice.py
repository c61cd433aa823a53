"""The choice of weights: which file of a run is meant by a name, by a number, or by nothing in particular."""

from pathlib import Path

from nmtkit.errors import CheckpointError, ConfigError
from nmtkit.metrics.base import Score
from nmtkit.run_folder import RunFolder
from nmtkit.training.checkpoints import (
    Checkpoint,
    Warn,
    average_is_current,
    best_first,
    checkpoint_folders,
    read_state,
    unheard,
    usable_checkpoints,
)
from nmtkit.training.state import beats, comparable
from nmtkit.training.tensor_folder import WEIGHTS, check_tensors, read_json
from nmtkit.translation.settings import CHECKPOINT_CHOICES, CHECKPOINTS


def find_weights(run: RunFolder, which: str, warn: Warn = unheard) -> Path:
    """Return the weights file meant by "auto", "average", "best", "last" or the number of an update.

    auto takes the average, unless the run went on after it was made or a checkpoint was better on the development set;
    else the best by development score; else the last. Damaged checkpoints are named to `warn` and left out. Raises
    CheckpointError where nothing is left.
    """
    if which not in CHECKPOINTS and not which.isdecimal():
        raise ConfigError(f"translate.checkpoint: {which!r} is none; choose {CHECKPOINT_CHOICES}")
    if which == "average":
        if not (run.average / WEIGHTS).exists():
            raise CheckpointError(
                f"{run.average}: no average was made; make one with nmtkit average, or choose another"
            )
        check_tensors(run.average / WEIGHTS)
        return run.average / WEIGHTS
    if which.isdecimal():
        return _numbered(run, int(which)) / WEIGHTS
    usable = usable_checkpoints(run.checkpoints, warn)
    best = best_first(usable)
    current = which == "auto" and average_is_current(run, usable[-1].update if usable else 0, warn)
    if current and not (best and _beats_average(best[0], run)):
        return run.average / WEIGHTS
    if not usable:
        raise CheckpointError(f"{run.checkpoints}: no usable checkpoint; run nmtkit train first")
    if which == "best" and not best:
        raise CheckpointError(f"{run.checkpoints}: no checkpoint has a development score; choose last or an update")
    return (best[0] if best and which != "last" else usable[-1]).folder / WEIGHTS


def _numbered(run: RunFolder, update: int) -> Path:
    for folder in checkpoint_folders(run.checkpoints):
        if int(folder.name) == update:
            return read_state(folder).folder
    there = ", ".join(str(int(folder.name)) for folder in checkpoint_folders(run.checkpoints)) or "none"
    raise CheckpointError(f"{run.checkpoints}: no checkpoint of update {update}; there are: {there}")


def _beats_average(checkpoint: Checkpoint, run: RunFolder) -> bool:
    """Tell whether a checkpoint scored better on the development set than the average, as in a short training."""
    score, average = checkpoint.state.current_score, average_score(run)
    return score is not None and average is not None and comparable(score, average) and beats(score, average)


def average_score(run: RunFolder) -> Score | None:
    """Return what the development set said of the average; None where it was not asked."""
    try:
        return Score(**read_json(run.average)["score"])
    except (CheckpointError, KeyError, TypeError):
        return None


def updates_of(weights: Path) -> list[int]:
    """Return the updates behind which weights are, or of which they are the mean; none where their folder is silent."""
    if weights.parent.name.isdecimal():
        return [int(weights.parent.name)]
    try:
        return [int(update) for update in read_json(weights.parent)["updates"]]
    except (CheckpointError, KeyError, TypeError, ValueError):
        return []

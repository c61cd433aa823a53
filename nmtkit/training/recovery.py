"""Recovery: a training that diverged goes back, once, to the newest checkpoint from before that."""

from pathlib import Path

from nmtkit.errors import CheckpointError
from nmtkit.training.checkpoints import Checkpoint, Warn, checkpoint_folders, read_resumable
from nmtkit.training.guard import Diverged, good_until, mark_passage
from nmtkit.training.state import TrainingState
from nmtkit.training.tensor_folder import OPTIMIZER, remove_folder, rewrite_state


def go_back(folder: Path, state: TrainingState, error: Diverged, warn: Warn) -> Checkpoint:
    """Make the last good checkpoint under `folder` (RUN/checkpoints) the newest of all, and return it.

    `state` is that of the training that diverged. The state of the checkpoint, on the disk too, says from then on that
    training went back and what it passes over; whoever is killed meanwhile finds the same end again. Raises `error`
    where training went back before, or where no good checkpoint is left.
    """
    checkpoint = None if state.returns else _last_good(folder, good_until(state), warn)
    if checkpoint is None:
        raise error
    mark_passage(checkpoint.state, state, error.number)
    rewrite_state(checkpoint.folder, {"state": checkpoint.state.to_json()})
    for later in reversed(checkpoint_folders(folder)):
        if int(later.name) > checkpoint.update:
            remove_folder(later)
    return checkpoint


def _last_good(folder: Path, until: int, warn: Warn) -> Checkpoint | None:
    for path in reversed(checkpoint_folders(folder)):
        if int(path.name) <= until and (path / OPTIMIZER).exists():
            try:
                return read_resumable(path)
            except CheckpointError as damage:
                warn(f"{damage}; trying the checkpoint before it")
    return None

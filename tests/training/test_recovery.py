"""Going back from a divergence: to which checkpoint, what becomes of the others, and when there is no way back."""

from pathlib import Path
from unittest.mock import patch

import pytest
import torch
from toy.training import ORIGIN

from nmtkit.training.checkpoints import checkpoint_folders, newest_resumable, read_state, save_checkpoint
from nmtkit.training.guard import WINDOW, Diverged
from nmtkit.training.recovery import go_back
from nmtkit.training.state import TrainingState
from nmtkit.training.tensor_folder import OPTIMIZER, WEIGHTS, remove_folder

ERROR = Diverged(470, "the loss rose")


def checkpoints(folder: Path, *updates: int) -> None:
    for update in updates:
        tensors = {WEIGHTS: {"w": torch.full((2,), float(update))}, OPTIMIZER: {}}
        state = TrainingState(update=update, steady=update, watched=update, pairs=10 * update, seconds=update / 10)
        save_checkpoint(folder, tensors, state, ORIGIN, regular=True)


def diverged(steady: int) -> TrainingState:
    return TrainingState(update=ERROR.number, steady=steady, seconds=99.0, skipped=3)


def updates(folder: Path) -> list[int]:
    return [int(path.name) for path in checkpoint_folders(folder)]


def test_the_newest_checkpoint_from_before_becomes_the_newest_of_all(tmp_path: Path) -> None:
    """Written within 50 updates before trouble shows, one is not trusted."""
    checkpoints(tmp_path, 100, 200, 300, 400)
    found = go_back(tmp_path, diverged(steady=310), ERROR, pytest.fail)
    assert found.update == 200
    assert updates(tmp_path) == [100, 200]
    resumed = newest_resumable(tmp_path, pytest.fail)
    assert resumed == found
    state = resumed.state
    assert (state.update, state.pairs, state.skipped) == (200, 2_000, 0)
    assert (state.returns, state.passed_from, state.passed_to) == (1, 310 - WINDOW + 1, 470)
    assert state.seconds == 99.0


def test_a_damaged_checkpoint_is_named_and_the_one_before_is_taken(tmp_path: Path) -> None:
    checkpoints(tmp_path, 100, 200, 300)
    file = tmp_path / "00000200" / WEIGHTS
    file.write_bytes(file.read_bytes()[:-1] + b"\1")
    warnings: list[str] = []
    assert go_back(tmp_path, diverged(steady=310), ERROR, warnings.append).update == 100
    assert len(warnings) == 1
    assert "00000200/weights.safetensors: damaged (" in warnings[0]
    assert "; trying the checkpoint before it" in warnings[0]
    assert updates(tmp_path) == [100]


def test_a_checkpoint_without_the_optimizer_is_passed_by(tmp_path: Path) -> None:
    checkpoints(tmp_path, 100, 200, 300)
    (tmp_path / "00000200" / OPTIMIZER).unlink()
    assert go_back(tmp_path, diverged(steady=310), ERROR, pytest.fail).update == 100


@pytest.mark.parametrize(("steady", "there"), [(310, ()), (310, (300, 400)), (30, (100,)), (0, (100,))])
def test_without_a_good_checkpoint_training_ends(tmp_path: Path, steady: int, there: tuple[int, ...]) -> None:
    checkpoints(tmp_path, *there)
    with pytest.raises(Diverged, match="the loss rose, so training has diverged; lower the learning rate"):
        go_back(tmp_path, diverged(steady), ERROR, pytest.fail)
    assert updates(tmp_path) == list(there)


def test_a_second_time_training_ends(tmp_path: Path) -> None:
    checkpoints(tmp_path, 100, 200)
    state = diverged(steady=310)
    state.returns = 1
    with pytest.raises(Diverged):
        go_back(tmp_path, state, ERROR, pytest.fail)
    assert updates(tmp_path) == [100, 200]
    assert read_state(tmp_path / "00000200").state.returns == 0


@pytest.mark.parametrize("removed", [0, 1])
def test_whoever_is_killed_on_the_way_finds_the_same_end(tmp_path: Path, removed: int) -> None:
    """The newest checkpoint is still one that diverged: training that goes on from it comes here again."""
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    for folder in (straight, killed):
        checkpoints(folder, 100, 200, 300, 400)
    expected = go_back(straight, diverged(steady=310), ERROR, pytest.fail)
    steps: list[Path] = []

    def remove(path: Path) -> None:
        steps.append(path)
        if len(steps) > removed:
            raise KeyboardInterrupt
        remove_folder(path)

    with patch("nmtkit.training.recovery.remove_folder", remove), pytest.raises(KeyboardInterrupt):
        go_back(killed, diverged(steady=310), ERROR, pytest.fail)
    assert updates(killed) == [100, 200, 300, 400][: 4 - removed]
    assert go_back(killed, diverged(steady=310), ERROR, pytest.fail).state == expected.state
    assert updates(killed) == [100, 200]

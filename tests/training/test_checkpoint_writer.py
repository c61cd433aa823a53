"""Checkpoints written while training goes on: whole, as things were, one after another, with every failure told."""

import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import torch
from safetensors.torch import load_file
from toy.training import ORIGIN

from nmtkit.errors import CheckpointError, NmtkitError
from nmtkit.log import Log
from nmtkit.training.checkpoint_writer import CheckpointWriter
from nmtkit.training.checkpoints import newest_resumable, read_state
from nmtkit.training.settings import CheckpointConfig
from nmtkit.training.state import TrainingState
from nmtkit.training.tensor_folder import OPTIMIZER, WEIGHTS, write_folder

WRITES = "nmtkit.training.checkpoints.write_folder"


class Bench:
    """Tensors that training would change, and a writer."""

    def __init__(self, folder: Path, **kept: int) -> None:
        self.folder = folder
        self.weights = torch.zeros(3, 4)
        self.state = TrainingState()
        self.writer = CheckpointWriter(folder, CheckpointConfig(**{"average": 0, **kept}), Log("verbose"), seconds=0.5)

    def move(self) -> None:
        """Take an update."""
        self.weights += 1
        self.state.update += 1
        self.state.pairs += 10

    def write(self, *, regular: bool = True) -> None:
        """Begin to write a checkpoint."""
        moments = {"exp_avg:w": self.weights * 2, "step:w": torch.tensor(1.0)}
        tensors = {WEIGHTS: {"w": self.weights}, OPTIMIZER: moments}
        self.writer.write(tensors, self.state, ORIGIN, regular=regular)

    def updates(self) -> list[int]:
        """Return what is on the disk."""
        return sorted(int(path.name) for path in self.folder.iterdir())


class Gate:
    """A disk that writes nothing until it is let."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.began: list[str] = []

    def __call__(self, target: Path, *arguments: Any) -> Path:
        self.began.append(target.name)
        assert self.opened.wait(60)
        return write_folder(target, *arguments)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    with patch(WRITES, gate):
        yield gate


def test_a_checkpoint_is_what_training_was_when_it_was_taken(bench: Bench, gate: Gate) -> None:
    """Training goes on before a byte is written."""
    bench.move()
    bench.state.watched = 7
    bench.write()
    bench.move()
    bench.state.watched = 8
    assert bench.updates() == []
    gate.opened.set()
    bench.writer.wait()
    folder = bench.folder / "00000001"
    assert torch.equal(load_file(folder / WEIGHTS)["w"], torch.ones(3, 4))
    moments = load_file(folder / OPTIMIZER)
    assert torch.equal(moments["exp_avg:w"], torch.full((3, 4), 2.0))
    assert moments["step:w"] == 1
    state = read_state(folder).state
    assert (state.update, state.pairs, state.watched) == (1, 10, 7)
    checkpoint = newest_resumable(bench.folder, pytest.fail)
    assert checkpoint is not None
    assert checkpoint.regular


def test_copies_use_the_memory_of_those_before(bench: Bench) -> None:
    places = []
    for _ in range(3):
        bench.move()
        bench.write()
        places.append([copy.data_ptr() for copies in bench.writer._copies.values() for copy in copies.values()])
    bench.writer.wait()
    assert places[0] == places[1] == places[2]
    assert torch.equal(load_file(bench.folder / "00000002" / WEIGHTS)["w"], torch.full((3, 4), 2.0))


def test_tensors_of_another_shape_get_memory_of_their_own(bench: Bench) -> None:
    bench.move()
    bench.write()
    bench.weights = torch.ones(5, dtype=torch.float64)
    bench.move()
    bench.write()
    bench.writer.wait()
    assert torch.equal(load_file(bench.folder / "00000002" / WEIGHTS)["w"], torch.full((5,), 2.0, dtype=torch.float64))


def test_a_second_checkpoint_waits_for_the_first(bench: Bench, gate: Gate) -> None:
    bench.move()
    bench.write()
    bench.move()
    second = threading.Thread(target=bench.write)
    second.start()
    second.join(0.05)
    assert second.is_alive()
    gate.opened.set()
    second.join(60)
    bench.writer.wait()
    assert gate.began == ["00000001", "00000002"]
    assert bench.updates() == [1, 2]


def test_what_is_not_kept_goes_behind_each_checkpoint(tmp_path: Path) -> None:
    bench = Bench(tmp_path, keep_last=2, keep_best=0)
    for regular in (True, True, False, True):
        bench.move()
        bench.write(regular=regular)
    bench.writer.wait()
    assert bench.updates() == [2, 4]


def test_it_is_said_what_was_written_once_it_is(bench: Bench, gate: Gate, capsys: pytest.CaptureFixture[str]) -> None:
    bench.move()
    bench.write()
    assert not bench.writer.look()
    assert capsys.readouterr().err == ""
    gate.opened.set()
    until(lambda: not bench.writer._is_writing)
    assert not bench.writer.look()
    assert not bench.writer.look()
    assert capsys.readouterr().err.count("checkpoint written: ") == 1


def until(true: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(6_000):
        if true():
            return
        pause.wait(0.01)
    raise AssertionError("it never came")


def test_a_checkpoint_takes_as_long_as_until_all_of_it_is_there(bench: Bench) -> None:
    """Not as long as training stops for it. Until there was one, it takes what it took in the process before."""
    now = [100.0]

    def slowly(*arguments: Any) -> Path:
        now[0] += 5
        return write_folder(*arguments)

    with patch("nmtkit.training.checkpoint_writer.monotonic", lambda: now[0]), patch(WRITES, slowly):
        assert bench.writer.seconds == 0.5
        bench.move()
        bench.write()
        bench.writer.wait()
        assert bench.writer.seconds == 5


def test_while_a_checkpoint_takes_longer_than_the_one_before_so_much_is_known(bench: Bench, gate: Gate) -> None:
    now = [100.0]
    with patch("nmtkit.training.checkpoint_writer.monotonic", lambda: now[0]):
        bench.move()
        bench.write()
        assert bench.writer.seconds == 0.5
        now[0] += 3
        assert bench.writer.seconds == 3
        gate.opened.set()
        bench.writer.wait()


FULL = "shutil.disk_usage"


def test_a_full_disk_is_told_to_whoever_looks_waits_or_writes_next(bench: Bench) -> None:
    bench.move()
    bench.write()
    bench.writer.wait()
    for ask in (bench.writer.wait, bench.write):
        bench.move()
        with patch(FULL, return_value=SimpleNamespace(free=3 * 2**20)):
            bench.write()
            until(bench.writer.look)
            with pytest.raises(CheckpointError, match=r"a checkpoint needs 17 MiB, but 3 MiB are free; make room"):
                ask()
        assert bench.updates() == [1]
    bench.write()
    bench.writer.wait()
    assert bench.updates() == [1, 3]


def test_whatever_goes_wrong_in_the_thread_is_raised(bench: Bench) -> None:
    bench.move()
    with patch("nmtkit.training.checkpoint_writer.prune", side_effect=PermissionError(13, "no", "folder")):
        bench.write()
        with pytest.raises(PermissionError):
            bench.writer.wait()


def test_leaving_waits(bench: Bench, gate: Gate) -> None:
    bench.move()
    with bench.writer:
        bench.write()
        gate.opened.set()
    assert bench.updates() == [1]


def test_leaving_raises_what_went_wrong(bench: Bench) -> None:
    bench.move()
    with (
        patch(FULL, return_value=SimpleNamespace(free=0)),
        pytest.raises(CheckpointError, match="make room"),
        bench.writer,
    ):
        bench.write()


def ends_with(bench: Bench, error: NmtkitError) -> None:
    """End training with an error while a checkpoint is written."""
    bench.move()
    with bench.writer:
        bench.write()
        raise error


def test_another_error_comes_first(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """The one that ends training is raised, behind a checkpoint that is whole; a second one is said."""
    with pytest.raises(NmtkitError, match="first"):
        ends_with(bench, NmtkitError("first"))
    assert bench.updates() == [1]
    with patch(FULL, return_value=SimpleNamespace(free=0)), pytest.raises(NmtkitError, match="second"):
        ends_with(bench, NmtkitError("second"))
    assert re.search("warning: .*make room", capsys.readouterr().err)
    assert bench.updates() == [1]

"""Processes of one training with other settings, data or versions: said once, with key, rank and values; all end."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from kills.processes import NEVER, Ended, Forked, words
from toy.corpora import write_project
from toy.projects import Project

from nmtkit import __version__
from nmtkit.commands.prepare import prepare
from nmtkit.log import Log
from together.teams import arguments, train, trained

REMEDY = "give all processes of a training the same configuration, data and installation"
SHORT = ("train.stop.updates=4", "train.validation.every=0")


def assert_all_end(ended: Sequence[Ended], message: str) -> None:
    """The first process says it for all."""
    first, *others = ended
    assert first == Ended(2, "", f"nmtkit: error: {message}; {REMEDY}\n"), first.said
    assert others == [Ended(2, "", "")] * len(others)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        pytest.param(
            "train.batch.tokens_per_update=401",
            "train.batch.tokens_per_update: 400 for rank 0, 401 for rank 1",
            marks=pytest.mark.slow,
        ),
        *(
            pytest.param(setting, message, marks=pytest.mark.full)
            for setting, message in (
                ("train.seed=7", "train.seed: 1 for rank 0, 7 for rank 1"),
                ("train.parallel=shard", "train.parallel: 'replicate' for rank 0, 'shard' for rank 1"),
                ("train.timeout=20", "train.timeout: 300.0 for rank 0, 20.0 for rank 1"),
                ("train.init.run=other", "train.init.run: None for rank 0, '{folder}/other' for rank 1"),
            )
        ),
    ],
)
def test_other_settings(fresh: Project, team: Forked, setting: str, message: str) -> None:
    commands = [arguments(fresh, *SHORT), arguments(fresh, *SHORT, setting)]
    assert_all_end(train(team, commands), message.format(folder=fresh.folder))
    assert not fresh.run.checkpoints.exists()


@pytest.mark.full
def test_another_of_three(fresh: Project, team: Forked) -> None:
    commands = [arguments(fresh, *SHORT, *more) for more in ([], [], ["train.seed=7"])]
    assert_all_end(train(team, commands), "train.seed: 1 for rank 0, 7 for rank 2")


@pytest.mark.slow
def test_another_version(fresh: Project, team: Forked) -> None:
    older = ["--put", 'nmtkit.training.state:__version__="0.1"', *words("SIGKILL", NEVER)]
    ended = train(team, [arguments(fresh, *SHORT)] * 2, {1: older})
    assert_all_end(ended, f"version of nmtkit: {__version__!r} for rank 0, '0.1' for rank 1")


@pytest.mark.full
def test_other_data(fresh: Project, team: Forked, tmp_path: Path) -> None:
    """As where each machine prepared a folder of its own."""
    other = Project(tmp_path / "other")
    write_project(other.folder, seed=1)
    for side in ("en", "de"):
        shutil.copy(fresh.folder / f"dev.{side}", other.folder)
    prepare(other.config(), other.folder, other.run, Log("silent"))
    folder = ("--set", f"corpus.folder={fresh.folder}")
    first, second = train(team, [arguments(fresh, *SHORT), [*arguments(other, *SHORT), *folder]])
    assert (first.code, second) == (2, Ended(2, "", "")), first.said + second.said
    assert first.said.startswith("nmtkit: error: prepared data: '"), first.said
    assert first.said.endswith(f"' for rank 1; {REMEDY}\n")
    assert first.said.count("\n") == 1


@pytest.mark.full
def test_a_folder_in_which_another_training_is_at_work(fresh: Project, team: Forked, tmp_path: Path) -> None:
    """The lock is held by the test."""
    from nmtkit.run_lock import RunLock

    with RunLock(fresh.run.lock) as lock:
        lock.sign()
        first, second = train(team, [arguments(fresh, *SHORT)] * 2)
    assert (first.code, second) == (1, Ended(1, "", ""))
    assert "is at work in this folder; wait for it, end it, or use another folder with --run" in first.said
    trained(team, fresh, 2, *SHORT)

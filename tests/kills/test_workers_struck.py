"""Preparations with worker processes, struck at any moment: no process stays behind, and the same command goes on."""

import random
import shutil
import signal
from pathlib import Path

import pytest
from toy.corpora import write_project
from toy.projects import Project

from kills.processes import ALWAYS_WORKERS, SMALL_STEPS, Ended, Moment, count_operations, struck
from kills.test_prepare_killed import assert_nothing_half, finish

PUT = (*SMALL_STEPS, ALWAYS_WORKERS)
CODES = {signal.SIGKILL: -signal.SIGKILL, signal.SIGTERM: 143, signal.SIGINT: 130}
LAST = {signal.SIGTERM: "nmtkit: terminated", signal.SIGINT: "nmtkit: interrupted"}

PHASES = {
    "the pool is there, no worker": Moment("before", "nmtkit.workers:_without_interrupts"),
    "a worker is being started": Moment("before", "multiprocessing.util:spawnv_passfds", 2),
    "a worker is started and was told nothing": Moment("after", "multiprocessing.util:spawnv_passfds", 2),
    "the workers are starting": Moment("after", "nmtkit.workers:_without_interrupts"),
    "cleaning: before the first block": Moment("before", "nmtkit.corpus.cleaning:append_block"),
    "cleaning: a step is flushed, not committed": Moment("before", "pathlib:Path.replace", 3),
    "cleaning: no block is left": Moment("before", "nmtkit.corpus.cleaning:append_block", 8),
    "cleaning: all is committed": Moment("after", "nmtkit.commands.prepare_text:clean_into"),
    "packing: the workers are starting": Moment("after", "nmtkit.workers:_without_interrupts", 9),
    "packing: before the first block": Moment("before", "nmtkit.data.store:PairWriter.write"),
    "packing: a step is flushed, not committed": Moment("before", "pathlib:Path.replace", 13),
    "packing: no block is left": Moment("after", "nmtkit.data.store:PairWriter.write", 8),
}
EARLY = {"cleaning: a step is flushed, not committed", "packing: before the first block"}
"""Phases that the shorter suite tries."""


def arguments(project: Project) -> list[str]:
    return ["prepare", "--config", str(project.file), "--processes", "2"]


def strike(project: Project, number: signal.Signals, moment: Moment, *, group: bool = False) -> Ended:
    """Strike a preparation. That no process of it stays behind is seen to by `struck`."""
    return struck(number, moment, *arguments(project), put=PUT, group=group)


def assert_ended_well(ended: Ended, number: signal.Signals, *, starting: bool = False) -> None:
    """Nobody says more than that a signal came.

    But Python's own start of a process complains where whoever started it is killed in that moment.
    """
    if not (starting and number == signal.SIGKILL):
        assert "Traceback" not in ended.said, ended.said
        assert "Error" not in ended.said, ended.said
    assert (ended.code, ended.out) == (CODES[number], ""), ended.said
    if number in LAST:
        assert ended.said.rstrip("\n").split("\n")[-1] == LAST[number]


@pytest.fixture
def raw(tmp_path: Path) -> Project:
    project = Project(tmp_path / "project")
    write_project(project.folder)
    return project


@pytest.fixture(scope="module")
def operations(tmp_path_factory: pytest.TempPathFactory) -> int:
    project = Project(tmp_path_factory.mktemp("counted") / "project")
    write_project(project.folder)
    return count_operations(project.run.path, *arguments(project), put=PUT)


@pytest.mark.parametrize("number", CODES)
@pytest.mark.parametrize(
    "phase", [pytest.param(phase, marks=pytest.mark.slow if phase in EARLY else pytest.mark.full) for phase in PHASES]
)
def test_a_preparation_struck_in_a_phase(raw: Project, prepared: Project, phase: str, number: signal.Signals) -> None:
    assert_ended_well(strike(raw, number, PHASES[phase]), number, starting="start" in phase)
    if raw.run.data.exists():
        assert_nothing_half(raw, prepared)
    finish(raw, prepared)


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("phase", [phase for phase in PHASES if "block" in phase or "start" in phase])
def test_a_signal_to_the_whole_group(raw: Project, prepared: Project, phase: str, number: signal.Signals) -> None:
    """As a terminal sends Ctrl-C, and a scheduler SIGTERM: the workers get it too."""
    assert_ended_well(strike(raw, number, PHASES[phase], group=True), number)
    finish(raw, prepared)


@pytest.mark.full
@pytest.mark.parametrize("number", CODES)
def test_a_preparation_struck_at_seeded_operations(
    raw: Project, prepared: Project, operations: int, number: signal.Signals
) -> None:
    """One interruption after the other, each of the process that goes on from where the one before it ended."""
    draw = random.Random(int(number))
    for _ in range(3):
        for _ in range(draw.randint(1, 3)):
            ended = strike(raw, number, Moment("file", str(raw.run.path), draw.randint(1, operations)))
            assert "Traceback" not in ended.said or number == signal.SIGKILL, ended.said
            assert ended.code in (CODES[number], 0), ended.said
        finish(raw, prepared)
        shutil.rmtree(raw.run.path)


@pytest.mark.full
@pytest.mark.parametrize("number", CODES)
@pytest.mark.parametrize("seed", range(3))
def test_a_preparation_struck_at_seeded_times(
    raw: Project, prepared: Project, seed: int, number: signal.Signals
) -> None:
    """From another thread, so between any two instructions; where that is depends on the machine."""
    ended = strike(raw, number, Moment("later", str(random.Random(seed).uniform(0.2, 4))))
    if ended.code != 0:
        assert_ended_well(ended, number, starting=True)
    finish(raw, prepared)

"""A process that is killed, stopped or hangs: the others end, name it and its last update, and nobody is left."""

import re
import signal
from pathlib import Path

import pytest
from kills.processes import NEVER, Ended, Forked, Moment, words
from toy.projects import Project

from together.launchers import LAUNCHERS, launched
from together.teams import arguments, strike, train
from together.trainings import PARALLEL, SETTINGS

TRAINER, VALIDATOR = "nmtkit.training.trainer", "nmtkit.training.validation:Validator"
ENGINE, BEAM = "nmtkit.training.engine:Engine", "nmtkit.search.beam:BeamSearch"

SECONDS, PATIENT = 4, 15
"""`train.timeout`, and that of processes that are not forked: they import on the way, for seconds on busy cores."""
ENDLESS = (*SETTINGS, "train.stop.updates=100000", f"train.timeout={SECONDS}", "train.validation.every=4")

LOST = r"nmtkit: error: rank {rank} \(process \d+ on \S+\) {how}; its last update was {update}\. The same command goes "
KILLED = "(has died|has ended), or its machine cannot be reached"
SILENT, HUNG = "has not answered for {seconds} seconds", "has hung for {seconds} seconds"

MOMENTS = {
    "in an update": (Moment("before", f"{ENGINE}._add", 12), r"\d+"),
    "before the sum of gradients": (Moment("before", "nmtkit.training.parallel:Replicas.sum_gradients", 6), "4"),
    "within an exchange": (Moment("after", "torch.distributed:all_reduce", 20), r"\d+"),
    "when the step is made": (Moment("after", "torch.optim:Adam.step", 7), "6"),
    "validating": (Moment("before", f"{VALIDATOR}.compute"), "4"),
    "translating": (Moment("before", f"{BEAM}.__call__", 2), "4"),
    "behind a validation": (Moment("before", f"{TRAINER}:Trainer._update", 6), "5"),
    "rehearsing": (Moment("before", f"{VALIDATOR}.rehearse"), "0"),
    "when all begins": (Moment("before", "nmtkit.commands.train:open_data"), "0"),
}
FIRST_ALONE = {
    "judging": (Moment("before", f"{VALIDATOR}.judge"), "4"),
    "writing a checkpoint": (Moment("before", "nmtkit.training.checkpoint_writer:CheckpointWriter.write"), "4"),
}
HOW = {"SIGKILL": KILLED, "SIGSTOP": SILENT, "HANG": HUNG}
EARLY = {
    ("SIGKILL", 0, "in an update"),
    ("SIGSTOP", 0, "translating"),
    ("SIGSTOP", 1, "when the step is made"),
    ("HANG", 0, "behind a validation"),
    ("HANG", 1, "translating"),
}
"""What the shorter suite tries."""
CASES = [
    *((name, rank, when) for when in MOMENTS for rank in (0, 1) for name in HOW),
    *((name, 0, when) for when in FIRST_ALONE for name in HOW),
]


def marked(case: tuple[str, int, str]) -> object:
    return pytest.param(*case, marks=pytest.mark.slow if case in EARLY else pytest.mark.full)


def assert_told(said: str, name: str, rank: int, update: str, seconds: int = SECONDS) -> None:
    """One line says who is lost, by what, and behind which update."""
    lost = LOST.format(rank=rank, how=HOW[name].format(seconds=seconds), update=update)
    told = re.findall(f"^(?:rank \\d+: )?{lost}", said, re.MULTILINE)
    assert told, said
    assert "internal error" not in said  # nor a traceback, but for those of torchrun


@pytest.mark.parametrize(("name", "rank", "when"), [marked(case) for case in CASES])
def test_the_other_names_who_is_lost(
    prepared: Project, team: Forked, tmp_path: Path, name: str, rank: int, when: str
) -> None:
    project = prepared.copy(tmp_path / "project")
    moment, update = {**MOMENTS, **FIRST_ALONE}[when]
    commands = [arguments(project, *ENDLESS)] * 2
    ended = train(team, commands, {rank: strike(name, moment)}, seconds=3 if name == "SIGSTOP" else 30)
    # Who hangs ends by itself, too: its watchdog does not.
    assert ended[rank].code == {"SIGKILL": -signal.SIGKILL, "SIGSTOP": -signal.SIGKILL, "HANG": 1}[name]
    assert ended[1 - rank].code == 1, ended[1 - rank].said
    # Who hangs may be the first to notice, and where it leads it says so for all.
    said = ended[1 - rank].said or (ended[rank].said if (name, rank) == ("HANG", 0) else "")
    assert_told(said, name, rank, update)


SHARDED = {
    "in a layer": Moment("before", "nmtkit.models.transformer.network:DecoderLayer.forward", 9),
    "before the way back": Moment("after", "nmtkit.models.transformer.network:Transformer.forward", 7),
    "translating": Moment("before", f"{BEAM}.__call__", 2),
}


@pytest.mark.full
@pytest.mark.parametrize("name", HOW)
@pytest.mark.parametrize("when", SHARDED)
@pytest.mark.parametrize("rank", [0, 1])
def test_a_lost_shard(prepared: Project, team: Forked, tmp_path: Path, name: str, rank: int, when: str) -> None:
    """The others wait for it within the model, which exchanges weights by itself."""
    project = prepared.copy(tmp_path / "project")
    commands = [arguments(project, *ENDLESS, PARALLEL["shard"])] * 2
    ended = train(team, commands, {rank: strike(name, SHARDED[when])}, seconds=3 if name == "SIGSTOP" else 30)
    assert ended[rank].code in (1, -signal.SIGKILL), ended[rank].said
    assert ended[1 - rank].code == 1, ended[1 - rank].said
    assert_told(ended[1 - rank].said, name, rank, r"\d+")


@pytest.mark.full
@pytest.mark.parametrize("name", HOW)
def test_one_of_three(prepared: Project, team: Forked, tmp_path: Path, name: str) -> None:
    """It is named once: who leads says it for all."""
    project = prepared.copy(tmp_path / "project")
    moment = Moment("before", f"{TRAINER}:Trainer._update", 7)
    first, second, lost = train(
        team,
        [arguments(project, *ENDLESS)] * 3,
        {2: strike(name, moment)},
        seconds=30 if name == "SIGKILL" else 3,
    )
    assert (first.code, second.code) == (1, 1), first.said + second.said
    assert lost.code in (1, -signal.SIGKILL)
    assert_told(first.said, name, 2, "6")
    if name == "SIGKILL":
        assert second == Ended(1, "", "")


@pytest.mark.slow
def test_a_bug_in_one_process_is_told_by_it_and_ends_the_others(
    prepared: Project, team: Forked, tmp_path: Path
) -> None:
    project = prepared.copy(tmp_path / "project")
    buggy = ["--put", "nmtkit.training.engine:tensor_seed=null", *words("SIGKILL", NEVER)]
    first, second = train(team, [arguments(project, *ENDLESS)] * 2, {1: buggy})
    assert second.code == 70
    assert "TypeError: 'NoneType' object is not callable" in second.said
    assert first.code == 1
    told = "nmtkit: error: rank 1 ended behind update 0: TypeError(\"'NoneType' object is not callable\")\n"
    assert first.said.endswith(told), first.said
    assert "Traceback" not in first.said


@pytest.mark.full
@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("name", HOW)
def test_nobody_is_left_behind_by_a_launcher(
    prepared: Project, tmp_path: Path, launcher: str, name: str, rank: int
) -> None:
    project = prepared.copy(tmp_path / "project")
    struck = strike(name, MOMENTS["in an update"][0], "--only", f"RANK={rank}")
    ended = launched(LAUNCHERS[launcher], arguments(project, *ENDLESS, f"train.timeout={PATIENT}"), struck)
    assert ended.code == 1, ended.said
    assert_told(ended.said, name, rank, r"\d+", PATIENT)

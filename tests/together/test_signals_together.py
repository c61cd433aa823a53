"""Signals to one process, to all, to their launcher: all stop behind the same checkpoint, and training goes on."""

import re
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
from kills.processes import Ended, Forked, Moment
from kills.trainings import Reference, assert_nothing_half, assert_same_end
from toy.projects import Project

from together.launchers import LAUNCHERS, launched
from together.launchers import Ended as Launched
from together.teams import arguments, finish, strike, train, trained

TRAIN, TRAINER = "nmtkit.commands.train", "nmtkit.training.trainer"
VALIDATOR, BEAM = "nmtkit.training.validation:Validator", "nmtkit.search.beam:BeamSearch"

SETTINGS = (
    "train.batch={tokens_per_update=400, tokens_per_tensor=150}",
    "train.stop.updates=16",
    "train.log_every=1",
    "train.validation.every=6",
)
SPARE = (*SETTINGS, "train.checkpoints={every=4, keep_last=2, average=2}")
KEEP_ALL = (*SETTINGS, "train.checkpoints={every=1, keep_last=99, keep_best=99, average=2}")

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
EXPECTED = {number: 128 + number for number in SIGNALS}
"""The exit codes that docs/recovery.md promises."""

IN_AN_UPDATE = Moment("before", "nmtkit.training.engine:Engine._add", 9)
MOMENTS = {
    "rehearsing": Moment("before", f"{VALIDATOR}.rehearse"),
    "between two updates": Moment("before", f"{TRAINER}:Trainer._update", 6),
    "in an update": IN_AN_UPDATE,
    "within an exchange": Moment("after", "torch.distributed:all_reduce", 22),
    "in the optimizer": Moment("before", "torch.optim:Adam.step", 7),
    "when it was asked already": Moment("after", f"{TRAINER}:Trainer._asked", 6),
    "validating": Moment("before", f"{VALIDATOR}.compute"),
    "translating": Moment("before", f"{BEAM}.__call__", 2),
    "its share of a validation is computed": Moment("after", f"{VALIDATOR}.compute", 2),
    "saving": Moment("before", f"{TRAINER}:training_tensors", 2),
    "validating behind the last update": Moment("before", f"{VALIDATOR}.compute", 3),
    "validating the average": Moment("before", f"{VALIDATOR}.compute", 4),
    "averaging": Moment("after", f"{TRAINER}:mean_weights"),
}
FIRST_ALONE = {
    "judging": Moment("before", f"{VALIDATOR}.judge"),
    "drawing": Moment("before", "matplotlib.figure:Figure.savefig"),
    "writing a checkpoint": Moment("after", "nmtkit.training.tensor_folder:save_file", 3),
    "writing the average": Moment("before", f"{TRAINER}:write_average"),
}
EARLY = {
    ("SIGTERM", "1", "translating"),
    ("SIGUSR1", "1", "within an exchange"),
    ("SIGINT", "all", "in an update"),
}
"""What the shorter suite tries."""


@pytest.fixture(scope="module")
def undisturbed(prepared: Project, team: Forked, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """Undisturbed runs of two processes. Not to be changed."""
    straight, complete = (prepared.copy(tmp_path_factory.mktemp(name) / "project") for name in ("straight", "complete"))
    return Reference(trained(team, straight, 2, *SPARE), trained(team, complete, 2, *KEEP_ALL))


def cases() -> list[object]:
    """Return a signal, one after the other, to each process and to all at each moment; and what is tried early."""
    places = [
        *((who, when) for when in MOMENTS for who in ("0", "1", "all")),
        *((who, when) for when in FIRST_ALONE for who in ("0", "all")),
    ]
    found = {(SIGNALS[(n + n // 3) % 3].name, *place) for n, place in enumerate(places)} | EARLY
    return [
        pytest.param(*case, marks=pytest.mark.slow if case in EARLY else pytest.mark.full) for case in sorted(found)
    ]


def stands_behind(said: str, number: signal.Signals) -> int:
    """Return behind which update a training says that it was stopped, which it says once."""
    lines = re.findall(
        rf"^nmtkit: error: stopped by {number.name} behind update (\d+); the same command goes on from there$",
        said,
        re.MULTILINE,
    )
    assert len(lines) == 1, said
    assert "internal error" not in said  # nor a traceback, but for those of torchrun
    return int(lines[0])


def newest(project: Project) -> int:
    return max(project.updates()) if project.run.checkpoints.exists() else 0


@pytest.mark.parametrize(("name", "who", "when"), cases())
def test_all_stop_behind_the_same_checkpoint(
    prepared: Project, team: Forked, undisturbed: Reference, tmp_path: Path, name: str, who: str, when: str
) -> None:
    project, number = prepared.copy(tmp_path / "project"), signal.Signals[name]
    moment, options = {**MOMENTS, **FIRST_ALONE}[when], ["--group"] if who == "all" else []
    struck = 0 if who == "all" else int(who)
    ended = train(team, [arguments(project, *SPARE)] * 2, {struck: strike(name, moment, *options)})
    first, second = ended
    if first.code == 0:  # it was about to end
        assert when in ("averaging", "writing the average", "validating the average")
        assert second == Ended(0, "", "")
    else:
        assert first.code == EXPECTED[number], first.said
        assert second == Ended(EXPECTED[number], "", "")
        assert stands_behind(first.said, number) == newest(project)
    assert_nothing_half(project, undisturbed)
    finish(team, project, *SPARE)
    assert_same_end(project, undisturbed)


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("struck", [0, 1])
def test_one_that_is_told_to_end_before_training_begins(
    prepared: Project, team: Forked, undisturbed: Reference, tmp_path: Path, number: signal.Signals, struck: int
) -> None:
    project = prepared.copy(tmp_path / "project")
    commands = [arguments(project, *SPARE)] * 2
    ended = train(team, commands, {struck: strike(number.name, Moment("before", f"{TRAIN}:open_data"))})
    word = {signal.SIGTERM: "terminated", signal.SIGINT: "interrupted"}[number]
    assert ended == [Ended(EXPECTED[number], "", f"nmtkit: {word}\n")] * 2
    finish(team, project, *SPARE)
    assert_same_end(project, undisturbed)


SAVING, NAMING = Moment("before", f"{TRAINER}:training_tensors"), Moment("before", "pathlib:Path.rename")
WRITES_LATE = "train.checkpoints={every=1000, keep_last=2, average=2}"
"""No checkpoint but for a signal or a best score: neither before the first validation, at update 6."""


@pytest.mark.full
@pytest.mark.parametrize("moment", [SAVING, NAMING])
@pytest.mark.parametrize("struck", [0, 1])
@pytest.mark.parametrize("second", SIGNALS)
def test_a_second_signal_ends_one_at_once_and_the_others_with_it(
    prepared: Project, team: Forked, tmp_path: Path, moment: Moment, struck: int, second: signal.Signals
) -> None:
    if moment is NAMING and struck == 1:
        pytest.skip("the first process alone writes")
    project = prepared.copy(tmp_path / "project")
    also = ["--also", *strike(second.name, moment)]
    commands = [arguments(project, *SETTINGS, WRITES_LATE)] * 2
    ended = train(team, commands, {struck: strike("SIGUSR1", Moment("after", f"{TRAINER}:Trainer._update", 3), *also)})
    assert ended[struck].code == -second, ended[struck].said
    assert ended[1 - struck].code == 1, ended[1 - struck].said
    assert f"nmtkit: error: rank {struck} (process " in ended[1 - struck].said
    assert "its last update was 3." in ended[1 - struck].said
    assert not project.run.checkpoints.exists() or project.updates() in ([], [3])
    straight = trained(team, prepared.copy(tmp_path / "straight"), 2, *SETTINGS, WRITES_LATE)
    finish(team, project, *SETTINGS, WRITES_LATE)
    assert_same_end(project, Reference(straight, straight))


# To the launcher.


def stopped(launcher: str, project: Project, words: Sequence[str]) -> Launched:
    """Train under a launcher, one of whose processes is struck."""
    return launched(LAUNCHERS[launcher], arguments(project, *SPARE), words)


TO_LAUNCHERS = [
    *(("nmtkit", number) for number in SIGNALS),
    ("torchrun", signal.SIGTERM),
    ("torchrun", signal.SIGINT),
]


@pytest.mark.full
@pytest.mark.parametrize(("launcher", "number"), TO_LAUNCHERS)
def test_a_signal_to_the_launcher(
    prepared: Project, team: Forked, undisturbed: Reference, tmp_path: Path, launcher: str, number: signal.Signals
) -> None:
    """The process that sends it stays where it is until it has the signal itself."""
    project = prepared.copy(tmp_path / "project")
    waiting = Moment("before", f"{TRAINER}:Trainer._asked", 3)
    ended = stopped(launcher, project, strike(number.name, waiting, "--parent", "--wait", "--only", "RANK=1"))
    assert stands_behind(ended.said, number) == newest(project) > 0
    assert ended.code == (EXPECTED[number] if launcher == "nmtkit" else 1), ended.said
    assert_nothing_half(project, undisturbed)
    finish(team, project, *SPARE)
    assert_same_end(project, undisturbed)


@pytest.mark.full
@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_to_one_process_of_a_launcher(
    prepared: Project, team: Forked, undisturbed: Reference, tmp_path: Path, launcher: str, number: signal.Signals
) -> None:
    project = prepared.copy(tmp_path / "project")
    ended = stopped(launcher, project, strike(number.name, IN_AN_UPDATE, "--only", "RANK=1"))
    assert stands_behind(ended.said, number) == newest(project) > 0
    assert ended.code == (EXPECTED[number] if launcher == "nmtkit" else 1), ended.said
    finish(team, project, *SPARE)
    assert_same_end(project, undisturbed)


@pytest.mark.full
@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_to_the_launcher(
    prepared: Project, team: Forked, tmp_path: Path, launcher: str, number: signal.Signals
) -> None:
    """While the first process hangs in what the first signal asked for."""
    project = prepared.copy(tmp_path / "project")
    first = ["--also", *strike(number.name, Moment("before", f"{TRAINER}:Trainer._asked", 3))]
    second = ["--also", *strike(number.name, SAVING)]
    hangs = strike("HANG", SAVING, "--parent", "--wait", "--only", "RANK=0")
    settings = (*SETTINGS, WRITES_LATE)
    ended = launched(LAUNCHERS[launcher], arguments(project, *settings), [*first, *second, *hangs])
    assert ended.code == (EXPECTED[number] if launcher == "nmtkit" else 1), ended.said
    assert newest(project) == 0
    straight = trained(team, prepared.copy(tmp_path / "straight"), 2, *settings)
    finish(team, project, *settings)
    assert_same_end(project, Reference(straight, straight))

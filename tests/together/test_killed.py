"""Two processes, of which one or both are killed at named moments: by the same command all ends as if undisturbed."""

import random
import signal
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from kills.processes import Ended, Forked, Moment
from kills.trainings import Reference, assert_nothing_half, assert_same_end
from toy.projects import Project

from together.teams import arguments, finish, strike, train, trained
from together.trainings import PARALLEL, SETTINGS, close, counts, losses

TRAIN, PARTS, FOLDER = "nmtkit.commands.train", "nmtkit.commands.train_parts", "nmtkit.training.tensor_folder"
TRAINER, WRITER = "nmtkit.training.trainer", "nmtkit.training.checkpoint_writer"
VALIDATOR, REPORTER = "nmtkit.training.validation:Validator", "nmtkit.training.reporting:Reporter"

BATCHES = ("train.batch={tokens_per_update=400, tokens_per_tensor=150}", "train.log_every=1")
SPARE = (*BATCHES, "train.validation.every=8", "train.checkpoints={every=4, keep_last=3, average=3}")
KEEP_ALL = ("train.checkpoints={every=4, keep_last=99, keep_best=99, average=3}",)
LONG, SHORT = "train.stop.updates=240", "train.stop.updates=64"

Who = Literal["any", "first"]


class Phase(NamedTuple):
    """A moment at which a process is killed, at one of its first `most` occurrences."""

    moment: Moment
    most: int = 1
    who: Who = "any"
    """Whether every process comes to it, or the first alone."""
    joined: bool = True
    """Whether the processes have found each other before, and so learn of each other's end."""


START = {
    "start: before they have joined": Phase(Moment("before", "nmtkit.training.group:TCPStore"), joined=False),
    "start: before the data is opened": Phase(Moment("before", f"{TRAIN}:open_data")),
    "start: the lock is held": Phase(Moment("before", "nmtkit.run_lock:RunLock.sign"), who="first"),
    "start: config.toml stands under its temporary name": Phase(Moment("before", "pathlib:Path.replace"), who="first"),
    "start: the largest tensors are rehearsed": Phase(Moment("before", "nmtkit.training.engine:Engine._add")),
    "start: a validation is rehearsed": Phase(Moment("before", f"{VALIDATOR}.rehearse")),
}
RESUME = {
    "resume: leftovers": Phase(Moment("before", f"{TRAIN}:remove_leftovers"), 3, "first"),
    "resume: the newest checkpoint is looked for": Phase(Moment("before", f"{TRAIN}:newest_resumable"), who="first"),
    "resume: its state is read": Phase(Moment("after", f"{TRAIN}:read_state")),
    "resume: weights": Phase(Moment("before", f"{PARTS}:load_weights")),
    "resume: optimizer": Phase(Moment("after", f"{PARTS}:load_optimizer")),
    "resume: records": Phase(Moment("after", "nmtkit.training.reporting:drop_later_records"), who="first"),
}
UPDATES = {
    "update: between two": Phase(Moment("before", f"{TRAINER}:Trainer._update"), 8),
    "update: between its tensors": Phase(Moment("before", "nmtkit.training.engine:Engine._add", 3), 12),
    "update: before the sum of gradients": Phase(
        Moment("before", "nmtkit.training.parallel:PARALLEL.sum_gradients"), 8
    ),
    "update: within an exchange": Phase(Moment("after", "torch.distributed:all_reduce", 8), 30),
    "update: behind the sum of gradients": Phase(Moment("before", "torch.optim:Adam.step"), 8),
    "update: the step is made": Phase(Moment("after", "torch.optim:Adam.step"), 8),
    "update: before signals are asked for": Phase(Moment("before", f"{TRAINER}:Trainer._asked", 2), 8),
    "records: half a line": Phase(Moment("half", "record"), 9, "first"),
    "validation: losses": Phase(Moment("after", f"{VALIDATOR}._losses", 2)),
    "validation: translating": Phase(Moment("before", "nmtkit.search.beam:BeamSearch.__call__", 2), 2),
    "validation: gathered": Phase(Moment("before", f"{VALIDATOR}.judge"), who="first"),
    "validation: judged": Phase(Moment("after", f"{VALIDATOR}.judge"), who="first"),
    "validation: recorded": Phase(Moment("after", f"{REPORTER}.validation")),
    "curve: half a picture": Phase(Moment("half", "picture"), who="first"),
    "checkpoint: before it": Phase(Moment("before", f"{TRAINER}:training_tensors"), 2),
    "checkpoint: half its weights": Phase(Moment("half", "weights", 1), who="first"),
    "checkpoint: half its optimizer": Phase(Moment("half", "weights", 2), who="first"),
    "checkpoint: before its files are flushed": Phase(Moment("before", f"{FOLDER}:sync"), 6, "first"),
    "checkpoint: flushed, not renamed": Phase(Moment("before", "pathlib:Path.rename"), 2, "first"),
    "checkpoint: just renamed": Phase(Moment("after", "pathlib:Path.rename"), 2, "first"),
    "checkpoint: renamed, nothing pruned": Phase(Moment("before", f"{WRITER}:prune"), 2, "first"),
    "pruning: half a folder is gone": Phase(Moment("within", "nmtkit.training.checkpoints:remove_folder"), 5, "first"),
    "pruning: done": Phase(Moment("after", f"{WRITER}:prune"), who="first"),
}
AVERAGE = {
    "average: before it": Phase(Moment("before", f"{TRAINER}:mean_weights")),
    "average: before it is validated": Phase(Moment("before", f"{VALIDATOR}.compute")),
    "average: recorded, not written": Phase(Moment("after", f"{REPORTER}.average")),
    "average: half written": Phase(Moment("half", "weights"), who="first"),
    "average: flushed, not renamed": Phase(Moment("before", "pathlib:Path.rename"), who="first"),
    "average: everything is done": Phase(Moment("before", "nmtkit.training.group:ProcessGroup.leave")),
}
"""The first of these is reached from anywhere; behind it a training begins at its last checkpoint, others in order."""

EARLY = (
    "checkpoint: just renamed",
    "resume: weights",
    "update: within an exchange",
    "validation: gathered",
    "checkpoint: half its optimizer",
    "update: behind the sum of gradients",
    "checkpoint: flushed, not renamed",
    "validation: translating",
)
"""Phases that the shorter suite tries."""


@pytest.fixture(scope="module")
def parallel(request: pytest.FixtureRequest) -> str:
    """How processes train, where a test does not say."""
    return getattr(request, "param", "replicate")


@pytest.fixture(scope="module")
def updates(request: pytest.FixtureRequest) -> str:
    """How long, where a test does not say."""
    return getattr(request, "param", LONG)


@pytest.fixture(scope="module")
def settings(parallel: str, updates: str) -> tuple[str, ...]:
    return (*SPARE, updates, PARALLEL[parallel])


@pytest.fixture(scope="module")
def undisturbed(
    prepared: Project, team: Forked, settings: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> Reference:
    """Undisturbed runs of two processes. Not to be changed."""
    straight, complete = (prepared.copy(tmp_path_factory.mktemp(name) / "project") for name in ("straight", "complete"))
    return Reference(trained(team, straight, 2, *settings), trained(team, complete, 2, *settings, *KEEP_ALL))


both_ways = pytest.mark.parametrize("parallel", PARALLEL, indirect=True)


def kill(
    team: Forked, project: Project, processes: int, settings: tuple[str, ...], phase: Phase, draw: random.Random
) -> None:
    """Kill one process or all at a drawn occurrence of a phase, and see how each ended."""
    what, place, count = phase.moment
    way = "nmtkit.training.shards:Shards" if PARALLEL["shard"] in settings else "nmtkit.training.parallel:Replicas"
    place = place.replace("nmtkit.training.parallel:PARALLEL", way)
    moment = Moment(what, place, count + draw.randrange(phase.most))
    struck = 0 if phase.who == "first" else draw.randrange(processes)
    everybody = processes > 1 and draw.randrange(3) == 0
    options = ["--group"] if everybody else []
    ended = train(
        team,
        [arguments(project, *settings)] * processes,
        {struck: strike("SIGKILL", moment, *options)},
        seconds=60 if phase.joined else 0.5,
    )
    assert ended[struck].code == -signal.SIGKILL, (moment, ended[struck].said)
    for rank, other in enumerate(ended):
        if rank != struck:
            assert_ended_too(other, struck, killed=everybody or not phase.joined)


def assert_ended_too(other: Ended, struck: int, *, killed: bool) -> None:
    """Who was not killed names who was, and its last update."""
    if killed:
        assert other.code == -signal.SIGKILL
        return
    assert other.code == 1, other.said
    assert f"nmtkit: error: rank {struck} (process " in other.said
    assert "; its last update was " in other.said
    assert "Traceback" not in other.said


@pytest.mark.slow
@pytest.mark.parametrize("updates", [SHORT], indirect=True)
def test_a_training_killed_some_times(
    prepared: Project, team: Forked, undisturbed: Reference, settings: tuple[str, ...], tmp_path: Path
) -> None:
    project, draw = prepared.copy(tmp_path / "project"), random.Random(1)
    for name in EARLY:
        kill(team, project, 2, settings, {**RESUME, **UPDATES}[name], draw)
        assert_nothing_half(project, undisturbed)
    finish(team, project, *settings)
    assert_same_end(project, undisturbed)


@pytest.mark.full
@both_ways
@pytest.mark.parametrize("seed", range(3))
def test_a_training_killed_at_more_than_thirty_moments(
    prepared: Project, team: Forked, undisturbed: Reference, settings: tuple[str, ...], tmp_path: Path, seed: int
) -> None:
    """Each of the phases once, in an order that is drawn, over 240 updates."""
    project, draw = prepared.copy(tmp_path / "project"), random.Random(seed)
    start, middle = list(START.values()), [*RESUME.values(), *UPDATES.values(), *START.values()]
    draw.shuffle(start)
    draw.shuffle(middle)
    phases = [*start, UPDATES["checkpoint: just renamed"], *middle, *AVERAGE.values()]
    assert len(phases) > 30
    for phase in phases:
        kill(team, project, 2, settings, phase, draw)
        assert_nothing_half(project, undisturbed)
    finish(team, project, *settings)
    assert_same_end(project, undisturbed)


@pytest.mark.full
@both_ways
@pytest.mark.parametrize("seed", range(4))
def test_a_training_killed_at_any_time(
    prepared: Project, team: Forked, undisturbed: Reference, settings: tuple[str, ...], tmp_path: Path, seed: int
) -> None:
    """From another thread, and at operations on files: between any two instructions."""
    project, draw = prepared.copy(tmp_path / "project"), random.Random(seed)
    for _ in range(8):
        struck = draw.randrange(2)
        later = Moment("later", str(draw.uniform(0.02, 2)))
        moment = draw.choice([later, Moment("file", str(project.run.path), draw.randint(1, 60))])
        ended = train(team, [arguments(project, *settings)] * 2, {struck: strike("SIGKILL", moment)}, seconds=10)
        assert ended[struck].code in (0, -signal.SIGKILL), ended[struck].said
        assert "Traceback" not in ended[1 - struck].said
        assert_nothing_half(project, undisturbed)
    finish(team, project, *settings)
    assert_same_end(project, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(1, 5))])
def test_kills_and_another_number_of_processes(prepared: Project, team: Forked, tmp_path: Path, seed: int) -> None:
    """2 → 1 → 2 processes, each of them killed."""
    alone, project = (prepared.copy(tmp_path / name) for name in ("alone", "project"))
    sixty = (*SETTINGS, "train.stop.updates=60", "train.checkpoints={every=3, keep_last=2, average=2}")
    trained(team, alone, 1, *sixty)
    draw = random.Random(seed)
    for processes, parallel in ((2, "replicate"), (1, "replicate"), (2, "shard"), (1, "replicate")):
        settings = (*sixty, PARALLEL[parallel])
        kill(team, project, processes, settings, Phase(Moment("before", f"{TRAINER}:Trainer._update", 5), 8), draw)
        kill(team, project, processes, settings, Phase(Moment("before", f"{WRITER}:prune"), 3, "first"), draw)
    finish(team, project, *sixty)
    assert counts(project) == counts(alone)
    assert close(losses(project), losses(alone))

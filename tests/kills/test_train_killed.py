"""A training killed with SIGKILL at named moments and at seeded ones ends, by the same command, as if undisturbed."""

import random
import signal

import pytest
from toy.projects import Project

from kills.processes import Forked, Moment, killed_after, struck
from kills.trainings import Reference, arguments, assert_nothing_half, assert_same_end, finish

TRAIN, PARTS, FOLDER = "nmtkit.commands.train", "nmtkit.commands.train_parts", "nmtkit.training.tensor_folder"
TRAINER, VALIDATOR = "nmtkit.training.trainer", "nmtkit.training.validation:Validator"
WRITER = "nmtkit.training.checkpoint_writer"

PHASES = {
    "start: torch is being imported": Moment("import", "torch", 200),
    "start: before the data is opened": Moment("before", f"{TRAIN}:open_data"),
    "start: the lock is held": Moment("before", "nmtkit.run_lock:RunLock.sign"),
    "start: the lock is being signed": Moment("before", "os:pwrite"),
    "start: config.toml stands under its temporary name": Moment("before", "pathlib:Path.replace"),
    "start: before metrics.jsonl is opened": Moment("before", "nmtkit.training.reporting:MetricsWriter"),
    "start: rehearsing": Moment("before", f"{VALIDATOR}.rehearse"),
    "epoch: between two updates": Moment("before", f"{TRAINER}:Trainer._update", 6),
    "epoch: between the tensors of an update": Moment("before", "nmtkit.training.engine:Engine._add", 17),
    "epoch: gradients are there, no step is made": Moment("before", "torch.optim:Adam.step", 5),
    "epoch: the step is made, the position not moved": Moment("after", "torch.optim:Adam.step", 7),
    "epoch: at its end": Moment("after", f"{TRAINER}:Trainer._update", 5),
    "epoch: the next is being planned": Moment("before", "nmtkit.data.epochs:Batches._window", 3),
    "records: half a line": Moment("half", "record", 3),
    "records: half a line of a validation": Moment("half", "record", 8),
    "records: the last of them, of the average": Moment("half", "record", 12),
    "validation: before it": Moment("before", f"{TRAINER}:Trainer._validate"),
    "validation: perplexity": Moment("before", f"{VALIDATOR}._losses", 3),
    "validation: translating": Moment("before", "nmtkit.search.beam:BeamSearch.__call__", 4),
    "validation: scoring": Moment("before", "nmtkit.metrics.sacre:SacrebleuMetric.__call__", 3),
    "validation: recorded, not saved": Moment("after", "nmtkit.training.reporting:Reporter.validation", 2),
    "curve: half a picture": Moment("half", "picture"),
    "curve: the picture stands under its temporary name": Moment("after", "matplotlib.figure:Figure.savefig", 2),
    "checkpoint: before it": Moment("before", f"{WRITER}:CheckpointWriter.write", 2),
    "checkpoint: copied, nothing written": Moment("before", f"{WRITER}:save_checkpoint", 2),
    "checkpoint: nothing written, and training has come to the next": Moment("amid", f"{FOLDER}:save_file", 3),
    "checkpoint: half written, and training has come to the next": Moment("amid", f"{FOLDER}:save_file", 6),
    "checkpoint: not renamed, and training waits at its end": Moment("amid", "pathlib:Path.rename", 7),
    "checkpoint: half its weights, the first": Moment("half", "weights", 1),
    "checkpoint: half its weights, a later one": Moment("half", "weights", 7),
    "checkpoint: half its optimizer": Moment("half", "weights", 4),
    "checkpoint: before its state.json": Moment("after", f"{FOLDER}:save_file", 6),
    "checkpoint: before its files are flushed": Moment("before", f"{FOLDER}:sync", 11),
    "checkpoint: flushed, not renamed, the first": Moment("before", "pathlib:Path.rename", 1),
    "checkpoint: flushed, not renamed, a later one": Moment("before", "pathlib:Path.rename", 3),
    "checkpoint: just renamed, the first": Moment("after", "pathlib:Path.rename", 1),
    "checkpoint: renamed, nothing pruned": Moment("before", f"{WRITER}:prune", 4),
    "checkpoint: renamed, nothing pruned, the last": Moment("before", f"{WRITER}:prune", 5),
    "pruning: before a folder goes": Moment("before", "nmtkit.training.checkpoints:remove_folder"),
    "pruning: half a folder is gone": Moment("within", "nmtkit.training.checkpoints:remove_folder", 4),
    "pruning: done": Moment("after", f"{WRITER}:prune", 3),
    "pruning: once more, at the end": Moment("before", f"{TRAINER}:prune"),
    "average: before it": Moment("before", f"{TRAINER}:mean_weights"),
    "average: before it is validated": Moment("before", f"{VALIDATOR}.compute", 4),
    "average: recorded, not written": Moment("after", "nmtkit.training.reporting:Reporter.average"),
    "average: half written": Moment("half", "weights", 11),
    "average: flushed, not renamed": Moment("after", f"{FOLDER}:sync", 28),
    "average: just renamed": Moment("before", f"{FOLDER}:sync", 29),
    "average: everything is done": Moment("after", f"{TRAINER}:write_average"),
}

OFTEN = {
    "at the beginning": [Moment("before", f"{TRAINER}:Trainer._update", count) for count in (1, 2)],
    "in each epoch": [Moment("before", f"{TRAINER}:Trainer._update", count) for count in (4, 3, 3)],
    "in every checkpoint": [Moment("before", "pathlib:Path.rename", count) for count in (1, 2, 2, 4)],
    "behind every checkpoint": [Moment("before", f"{WRITER}:prune")] * 5,
    "amid every checkpoint": [Moment("amid", f"{FOLDER}:save_file", count) for count in (2, 3, 4, 6)],
    "in every validation": [Moment("before", f"{VALIDATOR}.compute")] * 2
    + [Moment("before", f"{VALIDATOR}.compute", 2)] * 2,
    "while beginning again": [
        Moment("before", f"{TRAINER}:Trainer._update", 6),
        Moment("before", f"{TRAIN}:remove_leftovers"),
        Moment("before", f"{TRAIN}:newest_resumable"),
        Moment("before", f"{PARTS}:load_weights"),
        Moment("after", f"{PARTS}:load_optimizer"),
        Moment("before", "pathlib:Path.replace", 1),
        Moment("before", "pathlib:Path.replace", 2),
        Moment("after", "nmtkit.training.reporting:drop_later_records"),
    ],
    "with leftovers of all kinds": [
        Moment("half", "weights", 5),
        Moment("half", "picture"),
        Moment("half", "record", 2),
        Moment("before", "pathlib:Path.replace"),
    ],
}
"""One kill after the other, each in the process that goes on from where the one before it was killed."""

EARLY = {
    "epoch: between the tensors of an update",
    "validation: translating",
    "checkpoint: half written, and training has come to the next",
    "checkpoint: flushed, not renamed, a later one",
    "checkpoint: renamed, nothing pruned, the last",
    "average: recorded, not written",
}
"""Phases that the shorter suite tries."""


def kill(project: Project, moment: Moment, expected: Reference, forked: Forked) -> int:
    """Kill a training at a moment, see that nothing half is left, and return how it ended."""
    begins = struck if moment.what == "import" else forked.struck
    ended = begins(signal.SIGKILL, moment, *arguments(project))
    assert ended.code in (0, -signal.SIGKILL), ended.said
    assert_nothing_half(project, expected)
    return ended.code


@pytest.mark.parametrize(
    "phase", [pytest.param(phase, marks=pytest.mark.slow if phase in EARLY else pytest.mark.full) for phase in PHASES]
)
def test_a_training_killed_in_a_phase(fresh: Project, expected: Reference, forked: Forked, phase: str) -> None:
    assert kill(fresh, PHASES[phase], expected, forked) == -signal.SIGKILL
    finish(fresh, forked)
    assert_same_end(fresh, expected)


@pytest.mark.full
@pytest.mark.parametrize("when", OFTEN)
def test_a_training_killed_again_and_again(fresh: Project, expected: Reference, forked: Forked, when: str) -> None:
    for moment in OFTEN[when]:
        assert kill(fresh, moment, expected, forked) == -signal.SIGKILL, moment
    finish(fresh, forked)
    assert_same_end(fresh, expected)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(8))
def test_a_training_killed_at_seeded_operations_on_files(
    fresh: Project, expected: Reference, forked: Forked, operations: int, seed: int
) -> None:
    draw = random.Random(seed)
    for _ in range(draw.randint(1, 4)):
        if kill(fresh, Moment("file", str(fresh.run.path), draw.randint(1, operations)), expected, forked) == 0:
            break
    finish(fresh, forked)
    assert_same_end(fresh, expected)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(6))
def test_a_training_killed_from_outside_at_seeded_times(fresh: Project, expected: Reference, seed: int) -> None:
    """`python -m nmtkit train` itself, twice each; where in the training that is depends on the machine."""
    draw = random.Random(seed)
    for _ in range(2):
        assert killed_after(draw.uniform(1, 8), *arguments(fresh)) in (0, -signal.SIGKILL)
        assert_nothing_half(fresh, expected)
    finish(fresh)
    assert_same_end(fresh, expected)

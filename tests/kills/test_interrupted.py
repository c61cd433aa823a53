"""Signals at any moment: the exit codes of shells, one line, nothing half-written, and training goes on."""

import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from toy.corpora import write_project
from toy.projects import Project

from kills.processes import NEVER, SMALL_STEPS, Ended, Forked, Moment, struck
from kills.trainings import Reference, arguments, assert_nothing_half, assert_same_end, finish

SIGNALS = (signal.SIGINT, signal.SIGTERM)
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
TRAINER, VALIDATOR = "nmtkit.training.trainer", "nmtkit.training.validation:Validator"

TRAINING = {
    "opening the data": Moment("before", "nmtkit.commands.train:open_data"),
    "config.toml stands under its temporary name": Moment("before", "pathlib:Path.replace"),
    "rehearsing": Moment("before", f"{VALIDATOR}.rehearse"),
    "between two updates": Moment("before", f"{TRAINER}:Trainer._update", 6),
    "between the tensors of an update": Moment("before", "nmtkit.training.engine:Engine._add", 17),
    "in the optimizer": Moment("before", "torch.optim:Adam.step", 5),
    "at the end of an epoch": Moment("after", f"{TRAINER}:Trainer._update", 5),
    "behind an update, when it was asked already": Moment("after", f"{TRAINER}:Trainer._checkpoint_is_due", 1),
    "translating the development set": Moment("before", "nmtkit.search.beam:BeamSearch.__call__", 4),
    "scoring": Moment("before", "nmtkit.metrics.sacre:SacrebleuMetric.__call__", 3),
    "drawing": Moment("before", "matplotlib.figure:Figure.savefig"),
    "writing a checkpoint": Moment("after", "nmtkit.training.tensor_folder:save_file", 3),
    "waiting until one is written": Moment("amid", "nmtkit.training.tensor_folder:save_file", 3),
    "waiting for the last one": Moment("amid", "nmtkit.training.tensor_folder:save_file", 10),
    "naming a checkpoint": Moment("before", "pathlib:Path.rename", 3),
    "pruning": Moment("before", "nmtkit.training.checkpoints:remove_folder"),
    "validating behind the last update": Moment("before", f"{VALIDATOR}.compute", 3),
    "validating the average": Moment("before", f"{VALIDATOR}.compute", 4),
    "writing the average": Moment("before", f"{TRAINER}:write_average"),
}
EARLY = {"validating behind the last update"}
"""Phases that the shorter suite tries."""


def assert_ended_by(number: signal.Signals, ended: Ended) -> None:
    """Outside of training, a signal is answered by one line and the exit code that shells give it."""
    assert ended == Ended(128 + number, "", f"nmtkit: {WORDS[number]}\n")


def said_last(ended: Ended) -> str:
    return ended.said.rstrip("\n").split("\n")[-1]


def assert_stopped(project: Project, number: signal.Signals, ended: Ended) -> None:
    """A training says behind which update it stands, and has a checkpoint of it; or it had not begun, or was ending."""
    assert "Traceback" not in ended.said, ended.said
    if ended.code == 0:
        assert "finished at update 8" in ended.said
        return
    assert ended.code == 128 + number, ended.said
    stands = re.fullmatch(
        rf"nmtkit: error: stopped by {number.name} behind update (\d+); the same command goes on from there",
        said_last(ended),
    )
    if stands is None:
        assert said_last(ended) == f"nmtkit: {WORDS[number]}"
        return
    newest = max(project.updates()) if project.run.checkpoints.exists() else 0
    assert newest == int(stands[1])


# Training.


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(
    "phase",
    [pytest.param(phase, marks=pytest.mark.slow if phase in EARLY else pytest.mark.full) for phase in TRAINING],
)
def test_a_training_stopped_in_a_phase_goes_on(
    fresh: Project, expected: Reference, forked: Forked, phase: str, number: signal.Signals
) -> None:
    assert_stopped(fresh, number, forked.struck(number, TRAINING[phase], *arguments(fresh)))
    assert_nothing_half(fresh, expected)
    finish(fresh, forked)
    assert_same_end(fresh, expected)


IN_TIME = {
    "between two updates": pytest.mark.slow,
    "validating behind the last update": pytest.mark.full,
    "writing a checkpoint": pytest.mark.full,
    "waiting until one is written": pytest.mark.full,
}
"""Phases of a training that has begun, and the tier of each."""


@pytest.mark.parametrize("phase", [pytest.param(phase, marks=tier) for phase, tier in IN_TIME.items()])
def test_a_training_stopped_by_a_scheduler_in_time_goes_on(
    fresh: Project, expected: Reference, forked: Forked, phase: str
) -> None:
    """By SIGUSR1, whose exit code tells a script to put the job into the queue again."""
    ended = forked.struck(signal.SIGUSR1, TRAINING[phase], *arguments(fresh))
    assert ended.code == 128 + signal.SIGUSR1, ended.said
    assert_stopped(fresh, signal.SIGUSR1, ended)
    finish(fresh, forked)
    assert_same_end(fresh, expected)


@pytest.mark.full
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("seed", range(4))
def test_a_training_stopped_at_seeded_operations_goes_on(
    fresh: Project, expected: Reference, forked: Forked, operations: int, seed: int, number: signal.Signals
) -> None:
    draw = random.Random(seed)
    for _ in range(draw.randint(1, 3)):
        moment = Moment("file", str(fresh.run.path), draw.randint(1, operations))
        assert_stopped(fresh, number, forked.struck(number, moment, *arguments(fresh)))
        assert_nothing_half(fresh, expected)
    finish(fresh, forked)
    assert_same_end(fresh, expected)


LATE = {
    "before the late validation": Moment("before", f"{VALIDATOR}.compute"),
    "recorded, not saved": Moment("after", "nmtkit.training.reporting:Reporter.validation"),
    "the state stands under its temporary name": Moment("within", f"{TRAINER}:save_score", 3),
    "saved": Moment("after", f"{TRAINER}:save_score"),
}


@pytest.mark.full
@pytest.mark.parametrize("validation", [1, 2, 3])
@pytest.mark.parametrize("when", LATE)
def test_a_validation_made_up_for_and_killed_at_that(
    fresh: Project, expected: Reference, forked: Forked, when: str, validation: int
) -> None:
    """A signal cuts a validation off; the process that makes up for it is killed; nothing is lost, nothing twice."""
    moment = Moment("before", f"{VALIDATOR}._losses", 1 + validation)
    stopped = forked.struck(signal.SIGTERM, moment, *arguments(fresh))
    assert stopped.code == 143, stopped.said
    stands = fresh.updates()
    killed = forked.struck(signal.SIGKILL, LATE[when], *arguments(fresh))
    assert killed.code == -signal.SIGKILL, killed.said
    assert fresh.updates() == stands
    assert_nothing_half(fresh, expected)
    finish(fresh, forked)
    assert_same_end(fresh, expected)


# Commands that begin.

BEGINNINGS = ("nmtkit.cli", "typer", "pydantic", "nmtkit.commands.train", "torch", "sentencepiece", "sacrebleu")


@pytest.mark.full
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("module", BEGINNINGS)
def test_a_signal_while_modules_are_imported(fresh: Project, module: str, number: signal.Signals) -> None:
    ended = struck(number, Moment("import", module, 3), *arguments(fresh))
    assert_ended_while_beginning(number, ended)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(12))
def test_ctrl_c_at_seeded_imports(fresh: Project, seed: int) -> None:
    moment = Moment("import", "nmtkit.cli", random.Random(seed).randint(1, 2_000))
    assert_ended_while_beginning(signal.SIGINT, struck(signal.SIGINT, moment, *arguments(fresh)))


@pytest.mark.full
@pytest.mark.parametrize("seed", range(8))
def test_ctrl_c_at_seeded_times(
    prepared: Project, expected: Reference, forked: Forked, tmp_path: Path, seed: int
) -> None:
    """From another thread, so between any two instructions; where that is depends on the machine."""
    project = prepared.copy(tmp_path / "project")
    moment = Moment("later", str(random.Random(seed).uniform(0.05, 6)))
    assert_stopped(project, signal.SIGINT, struck(signal.SIGINT, moment, *arguments(project)))
    finish(project, forked)
    assert_same_end(project, expected)


def assert_ended_while_beginning(number: signal.Signals, ended: Ended) -> None:
    """Until a command is called nothing has to be tidied up; Typer, which reads options, ends without a word."""
    if ended.said:
        assert_ended_by(number, ended)
    else:
        assert (ended.code, ended.out) in ((-signal.SIGTERM, ""), (128 + number, ""))


# Translating and scoring.

TRANSLATING = {
    "torch is being imported": Moment("import", "torch", 100),
    "the model is being loaded": Moment("before", "nmtkit.api:load_weights"),
    "translating": Moment("before", "nmtkit.search.beam:BeamSearch.__call__", 2),
    "a chunk is written": Moment("after", "nmtkit.search.beam:BeamSearch.__call__", 3),
    "flushed, not renamed": Moment("before", "pathlib:Path.replace"),
}


@pytest.mark.full
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("moment", TRANSLATING)
def test_a_translation_cut_off_leaves_nothing(
    expected: Reference, tmp_path: Path, moment: str, number: signal.Signals
) -> None:
    output = tmp_path / "out.de"
    output.write_text("from before\n")
    project = expected.straight
    command = ["translate", str(project.folder / "test.en"), "-o", str(output), "--run", str(project.run)]
    ended = struck(number, TRANSLATING[moment], *command, "--device", "cpu")
    assert (ended.code, ended.out, said_last(ended)) == (128 + number, "", f"nmtkit: {WORDS[number]}")
    assert "Traceback" not in ended.said
    assert list(tmp_path.iterdir()) == [output]
    assert output.read_text() == "from before\n"


@pytest.mark.full
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("moment", ["translating", "flushed, not renamed"])
def test_a_scoring_cut_off_leaves_nothing(
    expected: Reference, tmp_path: Path, moment: str, number: signal.Signals
) -> None:
    project = expected.straight.copy(tmp_path / "project")
    ended = struck(number, TRANSLATING[moment], "score", "--config", str(project.file), "--device", "cpu")
    assert (ended.code, ended.out, said_last(ended)) == (128 + number, "", f"nmtkit: {WORDS[number]}")
    assert not project.run.translations.exists() or not list(project.run.translations.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS)
def test_a_translation_that_waits_for_its_input_can_be_ended(
    trained: Project, tmp_path: Path, number: signal.Signals
) -> None:
    """The signal comes from outside, as from a terminal or a scheduler."""
    output = tmp_path / "out.de"
    command = [sys.executable, "-m", "nmtkit", "translate", "-o", str(output), "--run", str(trained.run)]
    with subprocess.Popen([*command, "--device", "cpu"], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"the dog sees a bird today .\n")
        process.stdin.flush()
        written = wait_for_line(tmp_path, process)
        assert written
        process.send_signal(number)
        said = process.stderr.read().decode()
        process.wait()
    assert process.returncode == 128 + number, said
    assert said.endswith(f"nmtkit: {WORDS[number]}\n")
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def wait_for_line(folder: Path, process: "subprocess.Popen[bytes]") -> bool:
    """Wait until the first line stands in the only file of a folder."""
    while process.poll() is None:
        if any(path.stat().st_size for path in folder.iterdir()):
            return True
        time.sleep(0.01)
    return False


# Preparing.

PREPARING = {
    "reading": Moment("before", "nmtkit.commands.prepare:describe"),
    "cleaning": Moment("before", "nmtkit.corpus.cleaning:append_block", 4),
    "a step of cleaning is flushed, not committed": Moment("before", "pathlib:Path.replace", 2),
    "looking for duplicates": Moment("before", "nmtkit.corpus.cleaning:first_only"),
    "reading what is learned from": Moment("before", "nmtkit.corpus.spool:read_block", 5),
    "learning": Moment("before", "sentencepiece:SentencePieceTrainer.train"),
    "between the two vocabularies": Moment("before", "pathlib:Path.replace", 9),
    "packing": Moment("after", "nmtkit.data.store:PairWriter.write"),
    "a step of packing is flushed, not committed": Moment("before", "pathlib:Path.replace", 13),
    "one packed file of seven has its name": Moment("after", "pathlib:Path.replace", 16),
    "packing the development set": Moment("before", "pathlib:Path.replace", 27),
    "before the plan": Moment("before", "nmtkit.commands.prepare_stages:plan_batches"),
    "throwing away what is not needed any more": Moment("within", "shutil:rmtree", 3),
    "between the two reports": Moment("before", "pathlib:Path.replace", 34),
    "before the last manifest": Moment("before", "pathlib:Path.replace", 35),
}


@pytest.mark.full
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("phase", PREPARING)
def test_a_preparation_stopped_in_a_phase_goes_on(
    prepared: Project, tmp_path: Path, phase: str, number: signal.Signals
) -> None:
    project = Project(tmp_path / "project")
    write_project(project.folder)
    command = ["prepare", "--config", str(project.file)]
    ended = struck(number, PREPARING[phase], *command, put=SMALL_STEPS)
    assert "Traceback" not in ended.said, ended.said
    if phase == "learning":  # C++ that does not listen to Python: the signal ends the process
        assert ended.code == -number
    else:
        assert (ended.code, said_last(ended)) == (128 + number, f"nmtkit: {WORDS[number]}")
        assert not list(project.folder.rglob("*.tmp"))
    assert struck(number, NEVER, *command, put=SMALL_STEPS).code == 0
    assert contents(project.run.data) == contents(prepared.run.data)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}

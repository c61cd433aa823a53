"""A preparation killed with SIGKILL at any moment ends, by the same command, with the same bytes."""

import random
import shutil
import signal
from pathlib import Path

import pytest
from toy.corpora import write_project
from toy.projects import Project

from kills.processes import NEVER, SMALL_STEPS, Ended, Moment, count_operations, run, struck
from nmtkit.commands.prepare import prepare
from nmtkit.data.manifest import load_manifest
from nmtkit.errors import DataError
from nmtkit.log import Log

STAGES, PREPARATION = "nmtkit.commands.prepare_stages", "nmtkit.commands.prepare:_Preparation"
CLEANING = "nmtkit.corpus.cleaning"

PHASES = {
    "reading the files": Moment("before", "nmtkit.commands.prepare:describe"),
    "the lock is held": Moment("before", "nmtkit.run_lock:RunLock.sign"),
    "cleaning: before the first block": Moment("before", f"{CLEANING}:append_block"),
    "cleaning: within a block": Moment("before", f"{CLEANING}:append_block", 4),
    "cleaning: the first step is flushed, not committed": Moment("before", "pathlib:Path.replace", 1),
    "cleaning: the third step is flushed, not committed": Moment("before", "pathlib:Path.replace", 3),
    "cleaning: the third step is committed": Moment("after", "pathlib:Path.replace", 3),
    "cleaning: all is committed": Moment("after", "nmtkit.commands.prepare_text:clean_into"),
    "duplicates: being looked for": Moment("before", f"{CLEANING}:first_only"),
    "duplicates: found": Moment("after", "nmtkit.commands.prepare_text:drop_duplicates"),
    "cleaning: done, not in the manifest": Moment("after", "nmtkit.commands.prepare:clean_text"),
    "the first manifest stands under its temporary name": Moment("before", "pathlib:Path.replace", 6),
    "learning: reading the text": Moment("before", "nmtkit.corpus.spool:read_block", 5),
    "learning: in SentencePiece": Moment("before", "sentencepiece:SentencePieceTrainer.train"),
    "learning: done, not written": Moment("after", f"{STAGES}:learn_vocabularies"),
    "learning: between the two vocabularies": Moment("before", "pathlib:Path.replace", 9),
    "learning: written, not in the manifest": Moment("after", f"{STAGES}:Vocabularies.write"),
    "packing: before the first block": Moment("before", f"{STAGES}:pack_into"),
    "packing: a block is written": Moment("after", "nmtkit.data.store:PairWriter.write", 3),
    "packing: the first step is flushed, not committed": Moment("before", "pathlib:Path.replace", 12),
    "packing: the third step is flushed, not committed": Moment("before", "pathlib:Path.replace", 14),
    "packing: the third step is committed": Moment("after", "pathlib:Path.replace", 14),
    "packing: all is committed": Moment("after", f"{STAGES}:pack_into"),
    "packing: one file of seven has its name": Moment("after", "pathlib:Path.replace", 16),
    "packing: five files of seven have their names": Moment("after", "pathlib:Path.replace", 20),
    "packing: not in the manifest": Moment("after", f"{STAGES}:pack_train"),
    "packing the development set: two files of six": Moment("after", "pathlib:Path.replace", 26),
    "before the plan": Moment("before", f"{STAGES}:plan_batches"),
    "planned, not in the manifest": Moment("after", f"{STAGES}:plan_batches"),
    "what is unfinished is being thrown away": Moment("within", "shutil:rmtree", 3),
    "before the report": Moment("before", f"{PREPARATION}._write_report"),
    "the first report stands under its temporary name": Moment("before", "pathlib:Path.replace", 33),
    "between the two reports": Moment("after", "pathlib:Path.replace", 33),
    "before the last manifest": Moment("after", f"{PREPARATION}._write_report"),
    "the last manifest stands under its temporary name": Moment("before", "pathlib:Path.replace", 35),
    "everything is done": Moment("after", f"{PREPARATION}.bring_up_to_date"),
}
EARLY = {
    "cleaning: the third step is flushed, not committed",
    "learning: between the two vocabularies",
    "packing: the third step is flushed, not committed",
    "packing: one file of seven has its name",
    "before the last manifest",
}
"""Phases that the shorter suite tries."""

OTHER = ("prepare.segmenter.vocabulary_size=100", "prepare.max_pieces=40")
"""Settings of an earlier preparation of the same folder, of which nothing may stay but the clean text."""


def arguments(project: Project) -> list[str]:
    return ["prepare", "--config", str(project.file)]


def data(project: Project) -> dict[str, bytes]:
    """Return what a preparation leaves."""
    files = [path for path in project.run.path.rglob("*") if path.is_file() and path != project.run.lock]
    return {str(path.relative_to(project.run.path)): path.read_bytes() for path in files}


def assert_nothing_half(project: Project, expected: Project) -> None:
    """Training refuses what is not whole: in one line, or where an earlier one still stands, naming what differs."""
    if not load_manifest(project.run.manifest).complete:
        with pytest.raises(DataError, match="no data prepared to the end; run `nmtkit prepare`") as refused:
            project.train()
        assert "\n" not in str(refused.value)
    elif project.run.manifest.read_bytes() != expected.run.manifest.read_bytes():
        with pytest.raises(DataError, match="was prepared with other settings:"):
            project.train()


def finish(project: Project, expected: Project) -> None:
    """Give the same command again and compare; of an undisturbed run it does not matter in which blocks it went."""
    again = struck(signal.SIGKILL, NEVER, *arguments(project), put=SMALL_STEPS)
    assert again.code == 0, again.said
    assert "Traceback" not in again.said
    assert data(project) == data(expected)
    assert {path.name for path in project.run.path.iterdir()} == {"data", "prepare.json", "report.html", "run.lock"}
    assert not (project.run.data / ".unfinished").exists()


@pytest.fixture
def raw(tmp_path: Path) -> Project:
    project = Project(tmp_path / "project")
    write_project(project.folder)
    return project


@pytest.fixture
def earlier(raw: Project) -> Project:
    """A project prepared with other settings."""
    prepare(raw.config(*OTHER), raw.folder, raw.run, Log("quiet"))
    return raw


@pytest.fixture(scope="module")
def operations(tmp_path_factory: pytest.TempPathFactory) -> int:
    project = Project(tmp_path_factory.mktemp("counted") / "project")
    write_project(project.folder)
    return count_operations(project.run.path, *arguments(project), put=SMALL_STEPS)


@pytest.mark.parametrize(
    "phase", [pytest.param(phase, marks=pytest.mark.slow if phase in EARLY else pytest.mark.full) for phase in PHASES]
)
def test_a_preparation_killed_in_a_phase(raw: Project, prepared: Project, phase: str) -> None:
    ended = struck(signal.SIGKILL, PHASES[phase], *arguments(raw), put=SMALL_STEPS)
    assert ended.code == -signal.SIGKILL, ended.said
    if raw.run.data.exists():
        assert_nothing_half(raw, prepared)
    finish(raw, prepared)


@pytest.mark.slow
def test_training_refuses_what_a_kill_left_of_a_preparation(raw: Project) -> None:
    """As a person sees it."""
    phase = PHASES["packing: five files of seven have their names"]
    struck(signal.SIGKILL, phase, *arguments(raw), put=SMALL_STEPS)
    assert (raw.run.data / ".unfinished").exists()
    assert run("train", "--config", str(raw.file)) == Ended(
        1,
        "",
        f"nmtkit: error: {raw.run.data} holds no data prepared to the end; run `nmtkit prepare` for this run folder\n",
    )


@pytest.mark.full
def test_a_preparation_killed_at_seeded_operations_on_files(raw: Project, prepared: Project, operations: int) -> None:
    for count in sorted(random.Random(1).sample(range(1, operations + 1), 40)):
        shutil.rmtree(raw.run.path, ignore_errors=True)
        ended = struck(signal.SIGKILL, Moment("file", str(raw.run.path), count), *arguments(raw), put=SMALL_STEPS)
        assert ended.code == -signal.SIGKILL, ended.said
        if raw.run.data.exists():
            assert_nothing_half(raw, prepared)
        finish(raw, prepared)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(10))
def test_a_preparation_anew_killed_at_seeded_operations(
    earlier: Project, prepared: Project, operations: int, seed: int
) -> None:
    draw = random.Random(seed)
    for _ in range(draw.randint(1, 3)):
        struck(
            signal.SIGKILL,
            Moment("file", str(earlier.run.path), draw.randint(1, operations)),
            *arguments(earlier),
            put=SMALL_STEPS,
        )
        assert_nothing_half(earlier, prepared)
    finish(earlier, prepared)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(4))
def test_what_a_kill_left_is_not_taken_for_that_of_other_settings(raw: Project, prepared: Project, seed: int) -> None:
    """The killed one had another text and another vocabulary: of it nothing may stay."""
    phases = [phase for phase in PHASES if phase.startswith(("cleaning", "duplicates", "learning", "packing"))]
    settings = ("--set", 'prepare.filters=[{kind="blank"}, {kind="length", maximum=7}]', "--set", OTHER[0])
    for phase in random.Random(seed).sample(phases, 5):
        moment = PHASES[phase]
        ended = struck(signal.SIGKILL, moment, *arguments(raw), *settings, put=SMALL_STEPS)
        assert ended.code == -signal.SIGKILL or "first_only" in moment.place, ended.said
        finish(raw, prepared)
        shutil.rmtree(raw.run.path)

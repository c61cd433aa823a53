"""A preparation killed with SIGKILL at any moment ends, by the same command, with the same bytes."""

import random
import shutil
import signal
from pathlib import Path

import pytest
from toy.corpora import write_project
from toy.projects import Project

from kills.processes import Ended, Moment, count_operations, run, struck
from nmtkit.commands.prepare import prepare
from nmtkit.data.manifest import load_manifest
from nmtkit.errors import DataError
from nmtkit.log import Log

STAGES, PREPARATION = "nmtkit.commands.prepare_stages", "nmtkit.commands.prepare:_Preparation"

PHASES = {
    "reading the files": Moment("before", "nmtkit.commands.prepare:describe"),
    "the lock is held": Moment("before", "nmtkit.run_lock:RunLock.sign"),
    "cleaning: half the text is written": Moment("before", "nmtkit.corpus.cleaning:KeptPair", 150),
    "cleaning: done, not in the manifest": Moment("after", f"{STAGES}:write_spool"),
    "the first manifest stands under its temporary name": Moment("before", "pathlib:Path.replace", 1),
    "learning: reading the text": Moment("before", "nmtkit.corpus.spool:KeptPair", 100),
    "learning: done, not written": Moment("after", f"{STAGES}:learn_vocabularies"),
    "learning: between the two vocabularies": Moment("before", "pathlib:Path.replace", 4),
    "learning: written, not in the manifest": Moment("after", f"{STAGES}:Vocabularies.write"),
    "packing: before the first pair": Moment("before", f"{STAGES}:pack"),
    "packing: pairs are written": Moment("after", "nmtkit.data.store:PairWriter.write"),
    "packing: one file of four has its name": Moment("after", "pathlib:Path.replace", 7),
    "packing: three files of four have their names": Moment("after", "pathlib:Path.replace", 9),
    "packing: not in the manifest": Moment("after", f"{STAGES}:pack_train"),
    "packing the development set: two files of four": Moment("after", "pathlib:Path.replace", 14),
    "before the plan": Moment("before", f"{STAGES}:plan_batches"),
    "before the report": Moment("before", f"{PREPARATION}._write_report"),
    "before the last manifest": Moment("after", f"{PREPARATION}._write_report"),
    "the last manifest stands under its temporary name": Moment("before", "pathlib:Path.replace", 20),
    "everything is done": Moment("after", f"{PREPARATION}.bring_up_to_date"),
}
EARLY = {"learning: between the two vocabularies", "packing: one file of four has its name", "before the last manifest"}
"""Phases that the shorter suite tries."""

OTHER = ("prepare.segmenter.vocabulary_size=100", "prepare.max_pieces=40")
"""Settings of an earlier preparation of the same folder, of which nothing may stay but the clean text."""


def arguments(project: Project) -> list[str]:
    return ["prepare", "--config", str(project.file)]


def data(project: Project) -> dict[str, bytes]:
    """Return what a preparation leaves."""
    return {path.name: path.read_bytes() for path in project.run.data.iterdir()}


def assert_nothing_half(project: Project, expected: Project) -> None:
    """Training refuses what is not whole: in one line, or where an earlier one still stands, naming what differs."""
    if not load_manifest(project.run.manifest).complete:
        with pytest.raises(DataError, match="no data prepared to the end; run `nmtkit prepare`") as refused:
            project.train()
        assert "\n" not in str(refused.value)
    elif data(project)["manifest.json"] != data(expected)["manifest.json"]:
        with pytest.raises(DataError, match="was prepared with other settings:"):
            project.train()


def finish(project: Project, expected: Project) -> None:
    """Give the same command again and compare."""
    again = run(*arguments(project))
    assert again.code == 0, again.said
    assert "Traceback" not in again.said
    assert data(project) == data(expected)
    assert {path.name for path in project.run.path.iterdir()} == {"data", "run.lock"}


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
    return count_operations(project.run.path, *arguments(project))


@pytest.mark.parametrize(
    "phase", [pytest.param(phase, marks=pytest.mark.slow if phase in EARLY else pytest.mark.full) for phase in PHASES]
)
def test_a_preparation_killed_in_a_phase(raw: Project, prepared: Project, phase: str) -> None:
    ended = struck(signal.SIGKILL, PHASES[phase], *arguments(raw))
    assert ended.code == -signal.SIGKILL, ended.said
    if raw.run.data.exists():
        assert_nothing_half(raw, prepared)
    finish(raw, prepared)


@pytest.mark.slow
def test_training_refuses_what_a_kill_left_of_a_preparation(raw: Project) -> None:
    """As a person sees it."""
    struck(signal.SIGKILL, PHASES["packing: three files of four have their names"], *arguments(raw))
    assert run("train", "--config", str(raw.file)) == Ended(
        1,
        "",
        f"nmtkit: error: {raw.run.data} holds no data prepared to the end; run `nmtkit prepare` for this run folder\n",
    )


@pytest.mark.full
def test_a_preparation_killed_at_seeded_operations_on_files(raw: Project, prepared: Project, operations: int) -> None:
    for count in sorted(random.Random(1).sample(range(1, operations + 1), 40)):
        shutil.rmtree(raw.run.path, ignore_errors=True)
        ended = struck(signal.SIGKILL, Moment("file", str(raw.run.path), count), *arguments(raw))
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
        )
        assert_nothing_half(earlier, prepared)
    finish(earlier, prepared)

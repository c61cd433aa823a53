"""Fixtures that several folders of tests share."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import settings
from toy.corpora import write_project
from toy.projects import Project

from nmtkit.commands.init import SAMPLE_SEED
from nmtkit.commands.prepare import prepare
from nmtkit.log import Log
from nmtkit.sample import Sample, generate

# A test never asserts a time.
settings.register_profile("nmtkit", deadline=None)
settings.load_profile("nmtkit")

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would every process that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Threads do nothing for models of width 16 but wait for each other, many times as long where the cores are busy.
torch.set_num_threads(1)
os.environ["OMP_NUM_THREADS"] = "1"  # for processes that tests start

# What a disk keeps when the power fails cannot be tested here, and to wait for it takes longer than most tests.
os.fsync = lambda descriptor: None


@pytest.fixture
def closable() -> Iterator[None]:
    """See that a closed terminal is heard of, by processes that the test starts too, where tests run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="session")
def sample() -> Sample:
    """The corpus that nmtkit makes itself. Not to be changed."""
    return generate(SAMPLE_SEED)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A toy project whose data is prepared. Not to be changed: copy it."""
    project = Project(tmp_path_factory.mktemp("prepared") / "project")
    write_project(project.folder)
    prepare(project.config(), project.folder, project.run, Log("quiet"))
    return project


@pytest.fixture(scope="session")
def trained(prepared: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The same, trained for 8 updates. Not to be changed: copy it."""
    project = prepared.copy(tmp_path_factory.mktemp("trained") / "project")
    project.train()
    return project


@pytest.fixture
def fresh(prepared: Project, tmp_path: Path) -> Project:
    """A prepared project of the test's own."""
    return prepared.copy(tmp_path / "project")


@pytest.fixture
def finished(trained: Project, tmp_path: Path) -> Project:
    """A trained project of the test's own."""
    return trained.copy(tmp_path / "project")

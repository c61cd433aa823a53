"""What the tests of kills share."""

from collections.abc import Iterator

import pytest
from toy.projects import Project

from kills.processes import Forked, count_operations
from kills.trainings import Reference, arguments, reference


@pytest.fixture(scope="session")
def expected(prepared: Project, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """Undisturbed runs. Not to be changed."""
    return reference(prepared, tmp_path_factory.mktemp("expected"))


@pytest.fixture(scope="session")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forked]:
    forked = Forked(tmp_path_factory.mktemp("forked"))
    yield forked
    forked.close()


@pytest.fixture(scope="session")
def operations(prepared: Project, tmp_path_factory: pytest.TempPathFactory) -> int:
    """How often the undisturbed training opens, renames or removes a file of its run folder."""
    project = prepared.copy(tmp_path_factory.mktemp("counted") / "project")
    return count_operations(project.run.path, *arguments(project))

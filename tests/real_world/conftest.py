"""Fixtures: scenes, and the command line in this process."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from toy.corpora import write_project
from toy.disk import Disk
from toy.projects import Project

from nmtkit.cli import main
from real_world.scene import Nmt, Scene


@pytest.fixture(autouse=True)
def _no_picture(monkeypatch: pytest.MonkeyPatch, trained: Project) -> None:
    """The project that all tests share was drawn its picture before."""
    monkeypatch.setattr("nmtkit.training.reporting.draw_learning_curve", lambda metrics, picture: None)


@pytest.fixture
def nmt(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Nmt:
    """Run a command line, words apart by spaces, with a file as standard input where one is named behind "<"."""

    def run(command: str) -> tuple[int, str, str]:
        words, _, stdin = command.partition(" < ")
        monkeypatch.setattr(sys, "argv", ["nmtkit", *words.split()])
        with Path(stdin or "/dev/null").open("rb") as stream, monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", Standing(stream))
            with pytest.raises(SystemExit) as end:
                main()
        said = capfd.readouterr()
        return end.value.code, said.out, said.err

    return run


class Standing:
    """Stands for sys.stdin over a file."""

    def __init__(self, buffer) -> None:
        self.buffer = buffer

    def fileno(self) -> int:
        return self.buffer.fileno()

    def isatty(self) -> bool:
        return False


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Callable[[str], Scene]:
    """Copy a project that is "raw", "prepared" or "trained", and go there."""

    def make(stage: str) -> Scene:
        folder = tmp_path / "project"
        if stage == "raw":
            write_project(folder)
            project = Project(folder)
        else:
            project = request.getfixturevalue(stage).copy(folder)
        for name, of in (("in", "test.en"), ("h", "test.de"), ("r", "test.de")):
            (folder / name).write_bytes((folder / of).read_bytes())
        monkeypatch.chdir(folder)
        return Scene(project, Disk(monkeypatch))

    return make

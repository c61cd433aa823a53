"""`nmtkit train` on a terminal of its own: what a person sees while it runs, and what is left behind."""

import os
import re
import signal
import struct
import subprocess
import sys

import pytest
from toy.projects import Project
from toy.screen import Screen

from nmtkit.training.checkpoints import newest_resumable

pty = pytest.importorskip("pty")
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")


SETTINGS = ("train.stop.updates=60", "train.log_every=20", "train.validation.every=30", "train.checkpoints.every=30")


class Terminal:
    """nmtkit, at work on a terminal of its own, of so many columns, as which its process group is the foreground's."""

    def __init__(self, columns: int, *arguments: str) -> None:
        self.written = b""
        self._ours, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        environment = {
            name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "nmtkit", *arguments],
            stdin=its,
            stdout=its,
            stderr=its,
            env={**environment, "TERM": "xterm-256color"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )
        os.close(its)

    def read(self, until: bytes | None = None) -> None:
        """Read until something is written, or until nmtkit has ended."""
        while until is None or until not in self.written:
            try:
                some = os.read(self._ours, 65_536)
            except OSError:  # on Linux, what a closed terminal answers
                some = b""
            self.written += some
            if not some:
                assert until is None, self.written.decode()
                return

    def close(self) -> int:
        """Close it and return the exit code of nmtkit."""
        os.close(self._ours)
        return self.process.wait()


def training(project: Project, *settings: str) -> list[str]:
    """Return the arguments of a training on a CPU."""
    place = ["--config", str(project.file), "--run", str(project.run.path), "--device", "cpu"]
    return ["train", *place, *[word for setting in settings for word in ("--set", setting)]]


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, pytest.param(120, marks=pytest.mark.full)])
def test_a_training_is_watched_in_two_lines_that_do_not_wrap(fresh: Project, columns: int) -> None:
    terminal = Terminal(columns, *training(fresh, *SETTINGS))
    terminal.read()
    assert terminal.close() == 0, terminal.written.decode()
    written = terminal.written.decode()
    watched = written[written.index("\n", written.index("training in ")) + 1 :]  # sentences before it may wrap
    end = Screen(columns).feed(watched)
    assert end.wrapped == 0
    heads = [re.split("[:,]", line)[0] for line in end.shown]
    assert heads[:5] == ["update 20", "update 30", "update 40", "update 60", "update 60"]
    assert heads[5].startswith("average of updates ")
    assert "training ━" not in "".join(end.shown)
    *_, bar, beneath = Screen(columns).feed(watched[: watched.rindex("\r\x1b[2K")]).shown
    assert re.fullmatch(r". training [━╺╸ ]+ 60/60 validating", bar)
    assert re.match(r"loss \d\.\d{3}, (ppl|perplexity) \d", beneath)
    assert re.search(r"norm \d\.\d\d$", beneath)


@pytest.mark.slow
@pytest.mark.usefixtures("closable")
@pytest.mark.parametrize("processes", [1, 2])
def test_a_training_whose_terminal_is_closed_leaves_a_checkpoint(fresh: Project, processes: int) -> None:
    endless = ("train.stop.updates=1000000", "train.checkpoints.every=1000000")
    terminal = Terminal(80, *training(fresh, *SETTINGS, *endless), "--processes", str(processes))
    terminal.read(until=b"update 40")
    assert terminal.close() == 128 + signal.SIGHUP
    checkpoint = newest_resumable(fresh.run.checkpoints, pytest.fail)
    assert checkpoint is not None
    assert checkpoint.state.update >= 40

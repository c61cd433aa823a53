"""`nmtkit train` on a terminal of its own: what a person sees while it runs, and what is left behind."""

import os
import re
import struct
import subprocess
import sys

import pytest
from toy.projects import Project
from toy.screen import Screen

pty = pytest.importorskip("pty")
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")


def seen(columns: int, *arguments: str) -> str:
    """Run nmtkit on a terminal of so many columns and return all that it wrote there."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "nmtkit", *arguments],
        stdin=its,
        stdout=its,
        stderr=its,
        env={**environment, "TERM": "xterm-256color"},
    )
    os.close(its)
    written = b""
    while True:
        try:
            some = os.read(ours, 65_536)
        except OSError:  # on Linux, what a closed terminal answers
            break
        if not some:
            break
        written += some
    os.close(ours)
    assert process.wait() == 0, written.decode()
    return written.decode()


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120])
def test_a_training_is_watched_in_two_lines_that_do_not_wrap(fresh: Project, columns: int) -> None:
    settings = (
        "train.stop.updates=60",
        "train.log_every=20",
        "train.validation.every=30",
        "train.checkpoints.every=30",
    )
    place = ["--config", str(fresh.file), "--run", str(fresh.run.path), "--device", "cpu"]
    written = seen(columns, "train", *place, *[word for setting in settings for word in ("--set", setting)])
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

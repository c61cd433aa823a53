"""Talk on stderr that nobody hears: work goes on, and ends as it would."""

import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO

import pytest
from toy.projects import Project

from nmtkit.cli import app
from nmtkit.log import Log
from nmtkit.talk import say


@pytest.fixture
def unheard(monkeypatch: pytest.MonkeyPatch) -> Iterator[TextIO]:
    """Put a pipe in place of stderr whose reader has gone away."""
    reading, writing = os.pipe()
    os.close(reading)
    stream = os.fdopen(writing, "w", encoding="utf-8", errors="backslashreplace")
    monkeypatch.setattr(sys, "stderr", stream)
    yield stream
    stream.close()  # which would fail where something were left to send


def test_a_reader_that_went_away(unheard: TextIO) -> None:
    log = Log("verbose")
    for number in range(3):
        log.info(f"line {number} " * 10_000)
    say("the end")
    unheard.flush()


def test_a_closed_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    Log().warn("danger")
    say("the end")


def test_a_full_disk_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Disk(io.StringIO):
        full = True

        def flush(self) -> None:
            if self.full:
                raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stderr", disk := Disk())
    say("one")
    disk.full = False
    say("two")
    assert disk.getvalue() == "one\ntwo\n"


def test_what_is_printed_beside_a_bar_comes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rich puts a file of its own in place of stderr meanwhile."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for name, value in (("TERM", "xterm"), ("COLUMNS", "80")):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    log = Log()
    with log.progress("reading", 10, "lines") as meter:
        meter.advance(3)
        log.info("from the log")
        sys.stderr.write("from a library\n")
        say("from the end")
    for words in ("from the log", "from a library", "from the end"):
        assert terminal.getvalue().count(words) == 1


@pytest.mark.usefixtures("unheard")
def test_a_training_goes_on(fresh: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    place = ["--config", str(fresh.file), "--run", str(fresh.run.path), "--device", "cpu"]
    for code, settings in ((0, []), (2, ["--set", "train.sed=1"])):
        monkeypatch.setattr(sys, "argv", ["nmtkit", "train", *place, *settings])
        with pytest.raises(SystemExit) as end:
            app(["train", *place, *settings], prog_name="nmtkit")
        assert end.value.code == code
    assert fresh.updates() == [4, 8]
    assert "finished at update 8" in fresh.run.log.read_text()

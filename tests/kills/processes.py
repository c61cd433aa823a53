"""nmtkit in processes of its own, left alone or struck by a signal."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

STRIKER = Path(__file__).with_name("striker.py")
MARK = "NMTKIT_TEST_MARK"
"""A variable of the environment by which a test knows the processes that come of the one it started."""


class Moment(NamedTuple):
    """When a process sends itself a signal; see `striker`."""

    what: str
    place: str
    count: int = 1


SMALL_STEPS = (
    "nmtkit.corpus.reader:ParallelText.blocks.__defaults__=[1000]",
    "nmtkit.corpus.cleaning:BLOCKS_PER_STEP=2",
    "nmtkit.data.packing:BLOCKS_PER_STEP=2",
)
"""Constants that let a preparation take the 200 pairs of a toy corpus in eight blocks, and commit every second."""
ALWAYS_WORKERS = "nmtkit.commands.prepare_text:BYTES_FOR_PROCESSES=0"
"""A constant that lets worker processes work on any text."""

NEVER = Moment("before", "nmtkit.cli:main", -1)


class Ended(NamedTuple):
    """How a process ended."""

    code: int
    out: str
    said: str


def run(*arguments: str) -> Ended:
    """Run `python -m nmtkit`."""
    return _ended([sys.executable, "-m", "nmtkit", *arguments])


def struck(
    number: signal.Signals, moment: Moment, *arguments: str, put: Sequence[str] = (), group: bool = False
) -> Ended:
    """Run nmtkit, with other values of some constants, in a process that sends itself a signal, or all its group.

    Returns once it has ended, and all processes that it started.
    """
    what, place, count = moment
    options = [*(word for setting in put for word in ("--put", setting)), *(["--group"] if group else [])]
    return _ended([sys.executable, str(STRIKER), *options, number.name, what, place, str(count), *arguments])


def count_operations(folder: Path, *arguments: str, put: Sequence[str] = ()) -> int:
    """Run nmtkit and return how often it opened, renamed or removed a file of a folder."""
    ended = struck(signal.SIGKILL, Moment("file", str(folder), 0), *arguments, put=put)
    assert ended.code == 0, ended.said
    return int(ended.out)


def killed_after(seconds: float, *arguments: str) -> int:
    """Run `python -m nmtkit`, kill it after a time, and return its exit code: it may have ended before."""
    command = [sys.executable, "-m", "nmtkit", *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        try:
            process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
    return process.returncode


class Forked:
    """Processes forked from one that has imported everything: like others, but for the seconds of their start."""

    def __init__(self, folder: Path) -> None:
        self._output = folder / "output"
        command = [sys.executable, str(STRIKER), "serve"]
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, *arguments: str) -> Ended:
        """Run nmtkit."""
        return self.struck(signal.SIGKILL, NEVER, *arguments)

    def struck(self, number: signal.Signals, moment: Moment, *arguments: str) -> Ended:
        """Run nmtkit; it sends itself a signal."""
        what, place, count = moment
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        asked = [str(self._output), [number.name, what, place, str(count), *arguments]]
        self._server.stdin.write(json.dumps(asked).encode() + b"\n")
        self._server.stdin.flush()
        code = int(self._server.stdout.readline())
        out, said = (self._output.with_suffix(f".{name}").read_bytes().decode() for name in ("out", "said"))
        return Ended(code, out, said)

    def close(self) -> None:
        """Let the process that forks end."""
        self._server.communicate()


def _ended(command: list[str]) -> Ended:
    mark = secrets.token_hex(8)
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,  # and so it waits for all that write there
        check=False,
        timeout=300,
        env={**os.environ, MARK: mark},
        start_new_session=True,
    )
    limit = time.monotonic() + 30
    while marked(mark):
        assert time.monotonic() < limit, "a process outlived the one that started it"
        time.sleep(0.01)
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


def marked(mark: str) -> list[Path]:
    """Return the processes, in /proc, with a mark in their environment; those that have ended have none."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"{MARK}={mark}".encode() in (process / "environ").read_bytes():
                found.append(process)
    return found

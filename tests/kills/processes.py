"""nmtkit in processes of its own, left alone or struck by a signal."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
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


def words(name: str, moment: Moment) -> list[str]:
    """Return a moment and its signal, or HANG, as `striker` reads them."""
    what, place, count = moment
    return [name, what, place, str(count)]


def run(*arguments: str) -> Ended:
    """Run `python -m nmtkit`."""
    return _ended([sys.executable, "-m", "nmtkit", *arguments])


def struck(
    number: signal.Signals, moment: Moment, *arguments: str, put: Sequence[str] = (), group: bool = False
) -> Ended:
    """Run nmtkit, with other values of some constants, in a process that sends itself a signal, or all its group.

    Returns once it has ended, and all processes that it started.
    """
    options = [*(word for setting in put for word in ("--put", setting)), *(["--group"] if group else [])]
    return _ended([sys.executable, str(STRIKER), *options, *words(number.name, moment), *arguments])


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


class Call(NamedTuple):
    """A process to be forked: its moments as `striker` reads them, nmtkit's arguments, and what its environment has."""

    words: Sequence[str]
    arguments: Sequence[str]
    environ: Mapping[str, str]


class Forked:
    """Processes forked from one that has imported everything: like others, but for the seconds of their start."""

    def __init__(self, folder: Path, *modules: str) -> None:
        """`modules`: what is to be imported besides."""
        self._output = folder / "output"
        command = [sys.executable, str(STRIKER), "serve", *modules]
        # As the command `train` has it, before it imports torch.
        environ = {**os.environ, "TORCH_CPP_LOG_LEVEL": "ERROR"}
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ)

    def run(self, *arguments: str) -> Ended:
        """Run nmtkit."""
        return self.struck(signal.SIGKILL, NEVER, *arguments)

    def struck(self, number: signal.Signals, moment: Moment, *arguments: str) -> Ended:
        """Run nmtkit; it sends itself a signal."""
        return self.together([Call(words(number.name, moment), arguments, {})])[0]

    def together(self, calls: Sequence[Call], *, seconds: float = 0.0) -> list[Ended]:
        """Run nmtkit in several processes at once, which are a group; return how each ended.

        Once one has ended badly, the others have so many seconds until they are killed.
        """
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        outputs = [self._output.with_name(f"output{number}") for number in range(len(calls))]
        asked = [
            [str(output), [*call.words, *call.arguments], dict(call.environ)]
            for output, call in zip(outputs, calls, strict=True)
        ]
        self._server.stdin.write(json.dumps([seconds, asked]).encode() + b"\n")
        self._server.stdin.flush()
        codes = json.loads(self._server.stdout.readline())
        return [
            Ended(code, *(output.with_suffix(f".{name}").read_bytes().decode() for name in ("out", "said")))
            for code, output in zip(codes, outputs, strict=True)
        ]

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

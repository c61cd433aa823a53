"""A process that the launcher started: how it is begun, listened to and ended, and the signals that are waited for."""

import contextlib
import ctypes
import functools
import os
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import SystemRandom
from types import TracebackType
from typing import Any, NamedTuple

from nmtkit.errors import NmtkitError
from nmtkit.training.membership import LAUNCHED, PORTS
from nmtkit.training.signals import HANDLED, heeded
from nmtkit.workers import processors

LONGEST_LINE = 2**16
"""Bytes after which a line without an end is passed on in pieces."""

PR_SET_PDEATHSIG = 1
"""prctl(2): the signal that a process gets once the thread that started it has ended."""


class Start(NamedTuple):
    """What one process runs. What it says goes to the launcher's own stdout and stderr, or comes line by line."""

    command: Sequence[str]
    environ: Mapping[str, str]
    by_line: bool


def python(*arguments: str) -> list[str]:
    """Return a command of this Python; it imports from the working directory, as -m does, only if this process does."""
    here = {"", str(Path.cwd())}
    return [sys.executable, *([] if here & set(sys.path) else ["-P"]), *arguments]


def environments(processes: int, environ: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the environment of each process: torchrun's variables, and its share of the cores unless it is given.

    Raises NmtkitError where no port is free.
    """
    threads = max(1, processors() // processes)
    # Variables of a torchrun further out would have the processes look for its store instead of their own.
    kept = {name: value for name, value in environ.items() if not name.startswith("TORCHELASTIC_")}
    common = {"OMP_NUM_THREADS": str(threads), **kept, LAUNCHED: "1"}
    common |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
    common |= dict.fromkeys(("WORLD_SIZE", "LOCAL_WORLD_SIZE"), str(processes))
    return [{**common, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(processes)]


def _free_port() -> int:
    """Return a port that is free now. The kernel gives none of these away until the first process takes it."""
    for _ in range(100):
        port = SystemRandom().choice(PORTS)
        with socket.socket() as test, contextlib.suppress(OSError):
            test.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            test.bind(("", port))
            return port
    raise NmtkitError(f"of the ports {PORTS[0]} to {PORTS[-1]} none is free for processes to meet; end other programs")


class Process:
    """A process in a session of its own, so that a terminal's Ctrl-C does not reach it. It ends with its launcher."""

    def __init__(self, rank: int, start: Start) -> None:
        self.rank = rank
        self.code: int | None = None
        self._half = b""
        pipe = subprocess.PIPE if start.by_line else None
        with warnings.catch_warnings():
            # Python warns of forks beside threads, which may hold locks. What runs in the fork needs none.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._popen = subprocess.Popen(
                start.command,
                bufsize=0,
                env=start.environ,
                stdin=subprocess.DEVNULL,
                stdout=pipe,
                stderr=subprocess.STDOUT if start.by_line else None,
                start_new_session=True,
                preexec_fn=functools.partial(_end_with, os.getpid()),  # noqa: PLW1509  see above
            )
        self.output: Any = self._popen.stdout
        if self.output is not None:
            os.set_blocking(self.output.fileno(), False)

    def has_ended(self) -> bool:
        """Tell whether it has ended; what it started and left behind is ended then. `code` is negative for a signal."""
        pid = self._popen.pid
        if self.code is None and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            os.killpg(pid, signal.SIGKILL)  # before wait, as the number could be another's after it
            self.code = self._popen.wait()
        return self.code is not None

    def send(self, number: int) -> None:
        """Send it a signal."""
        if self.code is None:
            os.kill(self._popen.pid, number)

    def lines(self, *, rest: bool = False) -> Iterator[bytes]:
        """Yield the lines that it has written since, without their ends; with `rest` also what has no end yet."""
        while self.output is not None and (some := self.output.read(LONGEST_LINE)) is not None:
            *whole, self._half = (self._half + some).split(b"\n")
            yield from whole
            if not some:
                self._close()
        if self._half and (rest or len(self._half) > LONGEST_LINE):
            line, self._half = self._half, b""
            yield line

    def end(self) -> None:
        """End it, if it still goes on, and all that it started."""
        if not self.has_ended():
            os.killpg(self._popen.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):  # one that hangs inside the kernel
                self.code = self._popen.wait(timeout=1)

    def close(self) -> None:
        """Hear no more of it."""
        if self.output is not None:
            self._close()

    def _close(self) -> None:
        self.output.close()
        self.output = None


@functools.cache
def _libc() -> Any:
    return ctypes.CDLL(None)


def _end_with(parent: int) -> None:
    """Have the kernel end this process, about to be, with its parent, however that ends."""
    _libc().prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before
        os._exit(1)


class Wakeups:
    """While entered, signals do nothing but write their numbers to a pipe, which a selector waits for."""

    def __enter__(self) -> "Wakeups":
        _libc()  # loaded here, not in a fork
        self._reading, self._writing = os.pipe()
        for end in (self._reading, self._writing):
            os.set_blocking(end, False)
        self._descriptor = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, _leave_to_pipe) for number in (*heeded(), signal.SIGCHLD)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._descriptor)
        for end in (self._reading, self._writing):
            os.close(end)

    def fileno(self) -> int:
        """Return what a selector waits for."""
        return self._reading

    def read(self) -> list[signal.Signals]:
        """Return the signals to be forwarded that have come since, in their order."""
        with contextlib.suppress(BlockingIOError):
            return [signal.Signals(number) for number in os.read(self._reading, 4096) if number in HANDLED]
        return []


def _leave_to_pipe(number: int, frame: Any) -> None:
    """Do nothing where a signal is handled: its number is in the pipe."""

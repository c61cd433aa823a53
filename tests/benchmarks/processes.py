"""Commands run and watched, for benchmarks: how long they take, and the memory of all their processes."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, NamedTuple

SECONDS_BETWEEN_LOOKS = 0.1
TIMED_OUT = 124
"""The exit code of `timeout`."""
LAST_LINES = 12
"""Lines of what a command said that a failure shows."""


class Finished(NamedTuple):
    """How a command went."""

    code: int
    seconds: float
    output: str
    errors: str
    """What it wrote to stderr."""
    largest_mib: float
    """The largest process of all at its peak, as the kernel counts resident memory: exact."""
    together_mib: float
    """All processes together at their peak, pages of libraries counted once: as seen ten times a second."""

    @property
    def complaint(self) -> str:
        """The last lines of what it said, for a failure."""
        said = (self.errors.strip() or self.output.strip()).split("\n")[-LAST_LINES:]
        ending = f"exit code {self.code}" + (", so a time limit was reached" if self.code == TIMED_OUT else "")
        return "\n".join([ending, *filter(None, said)])


def resident() -> float:
    """Return the memory of this process as it is, in MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def end_when_told() -> None:
    """Let a SIGTERM end this process as Ctrl-C does, so that what it started ends too, in whatever process group."""

    def end(number: int, _: FrameType | None) -> None:
        end_family(os.getpid(), itself=False)
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, end)


def run(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> Finished:
    """Run a command to its end; `environment` is added to the one at hand. What it started ends with an exception."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env={**os.environ, **(environment or {})},
        )
        watch = _Watch(process.pid)
        watch.start()
        try:
            # Not process.wait: only this tells the memory of this child and those below it, and of no other.
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            end_family(process.pid)
            raise
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        watch.join()
        said, complained = _content(output), _content(errors)
    largest = usage.ru_maxrss / 1024
    return Finished(process.returncode, seconds, said, complained, largest, max(largest, watch.peak / 2**20))


def end_family(process: int, *, itself: bool = True) -> None:
    """Send a SIGTERM to a process and all below it, or only to those below it."""
    for member in [*family(process)][0 if itself else 1 :]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(member, signal.SIGTERM)


def family(process: int) -> Iterator[int]:
    """Yield a process and all below it."""
    yield process
    try:
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from family(int(child))
    except OSError:
        return


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


class _Watch(threading.Thread):
    """Looks at the memory of a process and all below it. A look costs microseconds: nothing walks their pages."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self._process, self.peak = process, 0

    def run(self) -> None:
        """Look until the process is gone."""
        while sizes := [size for member in family(self._process) if (size := _resident(member))]:
            self.peak = max(self.peak, sum(own for own, _ in sizes) + max(shared for _, shared in sizes))
            time.sleep(SECONDS_BETWEEN_LOOKS)


def _resident(process: int) -> tuple[int, int] | None:
    """Return the bytes of a process that are its own and those of files; None where it has ended."""
    try:
        _, resident, shared, *_ = map(int, Path(f"/proc/{process}/statm").read_text().split())
    except OSError:
        return None
    page = resource.getpagesize()
    return ((resident - shared) * page, shared * page) if resident else None

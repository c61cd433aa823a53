"""Trainings in processes that a launcher starts: nmtkit's own, or torchrun."""

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

from kills.processes import MARK, STRIKER, marked

from nmtkit.commands.launched import environments

TORCHRUN = (sys.executable, "-m", "torch.distributed.run")


class Launcher(NamedTuple):
    """How processes are started: the command before nmtkit's own arguments, and what comes behind them."""

    before: Sequence[str]
    behind: Sequence[str] = ()


def free_port() -> str:
    """Return a port that is free now."""
    return environments(1, {})[0]["MASTER_PORT"]


def torchrun(*options: str) -> Launcher:
    """Return torchrun with options."""
    return Launcher([*TORCHRUN, *options, "-m", "nmtkit"])


OURS = Launcher([sys.executable, "-m", "nmtkit"], ["--processes", "2"])
LAUNCHERS = {"nmtkit": OURS, "torchrun": torchrun("--standalone", "--nproc-per-node", "2")}


class Ended(NamedTuple):
    """How a command ended, and what it and the processes that it started said."""

    code: int
    said: str


class Started:
    """A launcher at work. Its processes have a mark by which they are found."""

    def __init__(
        self,
        launcher: Launcher,
        arguments: Sequence[str],
        strike: Sequence[str] = (),
        *,
        environ: Mapping[str, str] | None = None,
        within: Sequence[str] = (),
    ) -> None:
        """`strike`: what strikes its processes; `within`: a command that runs it, as in a network of its own."""
        self._mark = secrets.token_hex(8)
        path = [str(STRIKER.with_name("site")), *filter(None, [os.environ.get("PYTHONPATH")])]
        armed = {"NMTKIT_TEST_STRIKE": json.dumps(list(strike)), "PYTHONPATH": os.pathsep.join(path)}
        own = {"OMP_NUM_THREADS": "1", MARK: self._mark, **(armed if strike else {})}
        self.process = subprocess.Popen(
            [*within, *launcher.before, *arguments, *launcher.behind],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **own, **(environ or {})},
            start_new_session=True,
        )

    def ended(self, seconds: float = 300) -> Ended:
        """Wait for it and see that none of its processes is left."""
        try:
            said = self.process.communicate(timeout=seconds)[0].decode()
            limit = time.monotonic() + 30
            while left := marked(self._mark):
                assert time.monotonic() < limit, f"left behind: {', '.join(command(process) for process in left)}"
                time.sleep(0.01)
        finally:
            for process in marked(self._mark):
                with suppress(ProcessLookupError):
                    os.kill(int(process.name), signal.SIGKILL)
            self.process.wait()
        return Ended(self.process.returncode, said)


def command(process: Path) -> str:
    """Return the command line of a process in /proc."""
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return str(process)


def launched(launcher: Launcher, arguments: Sequence[str], strike: Sequence[str] = ()) -> Ended:
    """Run a command line under a launcher."""
    return Started(launcher, arguments, strike).ended()

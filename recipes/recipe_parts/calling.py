"""Calling nmtkit: where it is, what it is told by signals, and how it ended."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from recipe_parts.saying import RecipeError

_TOLD = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGUSR1", "SIGHUP", "SIGINT") if hasattr(signal, name))


class Nmtkit:
    """The nmtkit on the path, else the one in the repository's environment, which is made where there is none."""

    def __init__(self, set_up: Path) -> None:
        self._set_up = set_up
        self._program = ""

    def __call__(self, *arguments: str, capture: bool = False) -> str:
        """Run a command of nmtkit; return what it wrote to stdout, where that is captured; else it goes to stderr.

        Signals that a training takes as a wish to stop are passed on, and its end is waited for. Raises RecipeError
        with its exit code where it failed, and with that of a signal which came when its work was done already.
        """
        sys.stderr.flush()
        command = [self._path(), *arguments]
        with passing_on() as (listening, told):
            process = subprocess.Popen(command, stdout=subprocess.PIPE if capture else sys.stderr)
            listening.append(process)
            out, _ = process.communicate()
        code = process.returncode if process.returncode >= 0 else 128 - process.returncode
        if code:
            raise RecipeError(
                f"nmtkit {arguments[0]} ended with exit code {code} (see above); the same command goes on", code
            )
        if told:
            raise RecipeError(f"stopped after nmtkit {arguments[0]} was done; the same command goes on", 128 + told[0])
        return out.decode() if capture else ""

    def _path(self) -> str:
        """Return the program, looked for once."""
        if not self._program:
            self._program = shutil.which("nmtkit") or self._installed()
        return self._program

    def _installed(self) -> str:
        done = subprocess.run([self._set_up], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise RecipeError(f"{self._set_up} could not install nmtkit (see above)", done.returncode)
        return str(Path(done.stdout.strip()) / "nmtkit")


def heeded() -> list[int]:
    """Return the signals that wish for an end and are not ignored."""
    return [number for number in _TOLD if signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def passing_on() -> Iterator[tuple[list["subprocess.Popen[bytes]"], list[int]]]:
    """Pass signals on to the process in the first list; before there is one, they end this process.

    The second list has those that came. Signals that are ignored, as nohup has it, stay so.
    """
    listening: list[subprocess.Popen[bytes]] = []
    told: list[int] = []

    def tell(number: int, frame: FrameType | None) -> None:
        del frame
        told.append(number)
        if not listening:
            raise SystemExit(128 + number)
        # A terminal sends Ctrl-C to all of its processes itself.
        if number != signal.SIGINT or not _on_terminal():
            listening[0].send_signal(number)

    usual = {number: signal.signal(number, tell) for number in heeded()}
    try:
        yield listening, told
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


def _on_terminal() -> bool:
    """Tell whether this process is in the foreground of a terminal."""
    try:
        return os.tcgetpgrp(sys.stderr.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False

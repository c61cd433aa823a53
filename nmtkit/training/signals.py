"""Signals: the first asks training to stop at the next good moment, the second ends the process at once.

SIGINT is Ctrl-C, SIGTERM what systems and schedulers send before they kill, SIGUSR1 what a scheduler can be told to
send in time before that (SLURM: --signal=USR1@300), SIGHUP what comes of a terminal that is closed. One that comes
twice at once counts once: the program timeout sends its signal to the command and then to the whole group of processes,
so that the command may get it a second time.
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from nmtkit.errors import NmtkitError

_NAMES = "SIGINT", "SIGTERM", "SIGUSR1", "SIGHUP"
HANDLED: tuple[signal.Signals, ...] = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))
HANGUP = getattr(signal, "SIGHUP", None)
"""Never the second signal, nor the first of two: a terminal is closed once, both the kernel and the shell tell of it,
and at the end of a session SIGTERM may come right behind. Not on Windows."""

SECONDS_AT_ONCE = 0.2
"""Within which the same signal is not a second one; also between the launcher and who sends to that."""


def heeded() -> list[signal.Signals]:
    """Return the signals to be handled: all, but for those that are ignored.

    That is SIGHUP under `nohup`, and SIGINT in a command that a script starts with `&`, where Ctrl-C is for another.
    """
    return [number for number in HANDLED if signal.getsignal(number) is not signal.SIG_IGN]


class Interrupted(NmtkitError):  # noqa: N818  what happened is no error
    """Training stopped because of a signal, with a checkpoint.

    The exit code is what shells report of such a process: 130 for SIGINT, 143 for SIGTERM, 138 for SIGUSR1 on Linux,
    129 for SIGHUP.
    So whoever started it can tell a training that is to go on, by the same command, from one that is finished (0) or
    has failed (1).
    """

    def __init__(self, message: str, received: signal.Signals) -> None:
        super().__init__(message)
        self.exit_code = 128 + received


class Abandoned(BaseException):
    """Raised by the first signal inside `Interruption.abandoning`. No `except Exception` on the way swallows it."""


class Interruption:
    """While entered, remembers the first signal in `received` instead of letting it end the process."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._abandoning = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Interruption":
        # Python lets only the main thread handle signals; elsewhere the caller's program decides.
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._receive) for number in heeded()}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def abandoning(self) -> Iterator[None]:
        """Within, a signal raises Abandoned at once: for long work that nothing depends on."""
        if self.received:
            raise Abandoned
        self._abandoning = True
        try:
            yield
        finally:
            self._abandoning = False

    def _receive(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002  the handler's signature
        self.received = self.received or signal.Signals(number)
        if number == HANGUP:
            signal.signal(number, signal.SIG_IGN)
        else:
            for handled in self._before:
                signal.signal(handled, signal.SIG_IGN if handled in (number, HANGUP) else signal.SIG_DFL)
            # Waiting here, since nothing but the main thread can set the way back, and that may soon be in the kernel.
            time.sleep(SECONDS_AT_ONCE)
            signal.signal(number, signal.SIG_DFL)
        if self._abandoning:
            raise Abandoned

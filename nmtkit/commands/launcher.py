"""The launcher of processes that work together on this machine: watches them, passes signals on, leaves none behind."""

import selectors
import signal
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from nmtkit.commands.launched import Process, Start, Wakeups
from nmtkit.training.signals import HANGUP, SECONDS_AT_ONCE

ENDED_BY_SIGNAL, OUT_OF_TIME = 1, 124
"""Exit codes: where a signal ended the process that failed; where the time is over, as of the program timeout."""

AT_LEAST_EVERY = 1.0
"""Seconds between looks at the processes, where something keeps SIGCHLD from this one."""

_KILLED = (
    "maybe by the kernel for want of memory: see its log, lower train.batch.tokens_per_tensor or end other programs"
)


class Times(NamedTuple):
    """Seconds that the others have once a process has failed, or all once a second signal has come."""

    by_themselves: float = 10.0
    """To end by themselves, with a message of their own; then they get SIGTERM."""
    after_sigterm: float = 5.0
    """Then they get SIGKILL."""
    after_sigkill: float = 5.0
    """Then one that hangs inside the kernel, for a device or a disk, is given up."""


class Launcher:
    """Starts processes, one a rank, and watches them until all have ended.

    `heard` gets the lines of those that are listened to, `tell` what a person should know: which rank failed, and how.
    After `limit` seconds processes are ended as if one had failed.
    """

    def __init__(
        self,
        heard: Callable[[int, bytes], None],
        tell: Callable[[str], None],
        *,
        times: Times | None = None,
        limit: float | None = None,
    ) -> None:
        self.received: list[signal.Signals] = []
        """The signals that came and were passed on."""
        self._heard, self._tell, self._times, self._limit = heard, tell, times or Times(), limit
        self._processes: list[Process] = []
        self._going_on: list[Process] = []
        self._failed: int | None = None
        self._stopped = 0
        self._came = -SECONDS_AT_ONCE
        self._sent: list[signal.Signals] = []
        self._due: float | None = None
        self._end = None if limit is None else time.monotonic() + limit

    def run(self, starts: Sequence[Start]) -> int:
        """Start the processes; return the exit code of the first that failed, 1 where a signal ended it, or 0.

        A process that ends by a signal that was passed on, or with the exit code that shells give to that, has not
        failed; that code is returned where none fails. However this ends, no process goes on.
        """
        with Wakeups() as wakeups, selectors.DefaultSelector() as selector:
            selector.register(wakeups, selectors.EVENT_READ)
            try:
                for rank, start in enumerate(starts):
                    process = Process(rank, start)
                    self._processes.append(process)
                    self._going_on.append(process)
                    if process.output is not None:
                        selector.register(process.output, selectors.EVENT_READ, process)
                while self._going_on:
                    self._wait(selector)
                    for number in wakeups.read():
                        self._pass_on(number)
                    self._see_who_ended()
                    self._press()
            finally:
                for process in self._processes:
                    process.end()
                    self._listen(process, rest=True)
                    process.close()
        return self._stopped if self._failed is None else self._failed

    def _wait(self, selector: selectors.BaseSelector) -> None:
        """Wait until something happens or is due, and pass on what was said."""
        now = time.monotonic()
        moments = [moment for moment in (now + AT_LEAST_EVERY, self._due, self._end) if moment is not None]
        for key, _ in selector.select(max(0.0, min(moments) - now)):
            if key.data is not None:
                descriptor = key.fileobj
                self._listen(key.data)
                if key.data.output is None:
                    selector.unregister(descriptor)

    def _listen(self, process: Process, *, rest: bool = False) -> None:
        for line in process.lines(rest=rest):
            self._heard(process.rank, line)

    def _pass_on(self, number: signal.Signals) -> None:
        """Let all processes have a signal: the first, and the second, after which their time is short; then SIGKILL.

        That a terminal is closed counts as neither; a signal may well follow it.
        """
        now = time.monotonic()
        again = number in self.received[-1:] and now - self._came < SECONDS_AT_ONCE
        if again or (self.received and number == HANGUP):
            return
        self._came = now
        self.received.append(number)
        asked = 0 if number == HANGUP else sum(other != HANGUP for other in self.received)
        if asked > 2:
            self._end_by(signal.SIGKILL, self._times.after_sigkill)
            return
        self._send(number)
        if asked == 2 and self._due is None:
            self._due = now + self._times.by_themselves

    def _end_by(self, number: signal.Signals, seconds: float) -> None:
        """Send a signal of our own, with so much time until the next."""
        self._sent.append(number)
        self._send(number)
        self._due = time.monotonic() + seconds

    def _send(self, number: signal.Signals) -> None:
        for process in self._going_on:
            process.send(number)

    def _see_who_ended(self) -> None:
        ended = [process for process in self._going_on if process.has_ended()]
        self._going_on = [process for process in self._going_on if process.code is None]
        # What a signal ended is rather the cause than what ended with a code.
        for process in sorted(ended, key=lambda process: (process.code or 0) >= 0):
            self._listen(process, rest=True)
            self._judge(process.rank, process.code or 0)

    def _judge(self, rank: int, code: int) -> None:
        """Say how a rank ended, unless well or as it was told to."""
        told = {end: number for number in (*self.received, *self._sent) for end in (-number, 128 + number)}
        if code == 0:
            return
        if code in told:
            number = told[code] if told[code] in self.received else next(iter(self.received), told[code])
            self._stopped = self._stopped or 128 + number
        elif code < 0:
            hint = f", {_KILLED}" if code == -signal.SIGKILL else ""
            self._fail(ENDED_BY_SIGNAL, f"rank {rank} was ended by {_name(-code)}{hint}")
        else:
            self._fail(code, f"rank {rank} ended with exit code {code}")

    def _fail(self, code: int, message: str) -> None:
        if self._failed is None:
            self._failed = code
        if self._due is None and self._going_on:
            self._due = time.monotonic() + self._times.by_themselves
            message += f"; the others have {self._times.by_themselves:g} s to end by themselves"
        self._tell(message)

    def _press(self) -> None:
        """Send what is due to those that still go on."""
        now = time.monotonic()
        if self._end is not None and now >= self._end:
            self._end, self._due = None, now
            self._fail(OUT_OF_TIME, f"not done within {self._limit:g} s")
        if self._due is None or now < self._due or not self._going_on:
            return
        who = f"rank {self._going_on[0].rank}" if len(self._going_on) == 1 else f"{len(self._going_on)} ranks"
        if signal.SIGKILL in self._sent:
            self._tell(f"{who} cannot be ended, for want of an answer from a device or a disk, and stay behind")
            self._going_on = []
            return
        number, seconds = signal.SIGTERM, self._times.after_sigterm
        if number in self._sent:
            number, seconds = signal.SIGKILL, self._times.after_sigkill
        self._tell(f"{who} still at work: ended by {number.name}")
        self._end_by(number, seconds)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # one of the real-time signals
        return f"signal {number}"

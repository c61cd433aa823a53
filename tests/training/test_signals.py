"""Signals that ask training to stop."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from nmtkit.training.signals import HANDLED, Abandoned, Interrupted, Interruption

pytestmark = pytest.mark.usefixtures("closable")

TWICE = """
import os, signal, sys
from nmtkit.training.signals import Interruption
first, second = (signal.Signals[name] for name in sys.argv[1:])
with Interruption() as interruption:
    os.kill(os.getpid(), first)
    assert interruption.received is first
    print("going on", flush=True)
    os.kill(os.getpid(), second)
    print("not reached", flush=True)
"""


@pytest.mark.parametrize("number", HANDLED)
def test_the_first_signal_is_remembered(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with Interruption() as interruption:
        assert interruption.received is None
        os.kill(os.getpid(), number)
        assert interruption.received is number
    assert signal.getsignal(number) is before


@pytest.mark.parametrize(("first", "second"), [("SIGTERM", "SIGTERM"), ("SIGUSR1", "SIGTERM"), ("SIGINT", "SIGUSR1")])
def test_the_second_signal_ends_the_process(first: str, second: str) -> None:
    """Whichever it is: a scheduler that has sent SIGUSR1 in time sends SIGTERM when time is up."""
    result = subprocess.run([sys.executable, "-c", TWICE, first, second], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (-signal.Signals[second], "going on\n")


CLOSED = """
import os, signal, sys
from nmtkit.training.signals import Interruption
numbers = [signal.Signals[name] for name in sys.argv[2:]]
signal.signal(signal.SIGHUP, signal.Handlers[sys.argv[1]])
with Interruption() as interruption:
    for number in numbers:
        os.kill(os.getpid(), number)
        print(interruption.received and interruption.received.name, flush=True)
"""


@pytest.mark.parametrize(
    ("before", "sent", "code", "said"),
    [
        ("SIG_DFL", "SIGHUP SIGHUP SIGHUP", 0, "SIGHUP SIGHUP SIGHUP"),
        ("SIG_DFL", "SIGTERM SIGHUP", 0, "SIGTERM SIGTERM"),
        ("SIG_DFL", "SIGHUP SIGTERM", 0, "SIGHUP SIGHUP"),
        ("SIG_DFL", "SIGHUP SIGTERM SIGTERM", -signal.SIGTERM, "SIGHUP SIGHUP"),
        ("SIG_IGN", "SIGHUP SIGTERM SIGHUP", 0, "None SIGTERM SIGTERM"),
    ],
)
def test_a_terminal_is_closed(before: str, sent: str, code: int, said: str) -> None:
    """Training stops; but it counts as no second signal, SIGTERM may follow it, and under `nohup` it is none at all."""
    command = [sys.executable, "-c", CLOSED, before, *sent.split()]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout.split(), result.stderr) == (code, said.split(), "")


@pytest.mark.parametrize("number", HANDLED)
def test_a_signal_that_is_ignored_stays_so(number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with Interruption() as interruption:
            os.kill(os.getpid(), number)
            assert interruption.received is None
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


AT_ONCE = """
import os, signal
from nmtkit.training.signals import Interruption, SECONDS_AT_ONCE
from threading import Timer
times = [share * SECONDS_AT_ONCE for share in (0.2, 0.4)]
for seconds in times:
    Timer(seconds, os.kill, (os.getpid(), signal.SIGTERM)).start()
with Interruption() as interruption:
    os.kill(os.getpid(), signal.SIGTERM)
    print(interruption.received.name, flush=True)
"""


def test_the_same_signal_once_more_at_once_is_not_a_second_one() -> None:
    result = subprocess.run([sys.executable, "-c", AT_ONCE], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "SIGTERM\n")


def test_a_signal_cuts_off_what_may_be_abandoned() -> None:
    reached = []

    def work() -> None:
        with suppress(Exception):  # as a library may do
            os.kill(os.getpid(), signal.SIGINT)
        reached.append(1)

    with Interruption() as interruption:
        with pytest.raises(Abandoned), interruption.abandoning():
            work()
        with pytest.raises(Abandoned), interruption.abandoning():
            work()
    assert interruption.received is signal.SIGINT
    assert reached == []


def test_other_threads_leave_signals_alone() -> None:
    failures = []

    def enter() -> None:
        try:
            with Interruption():
                pass
        except ValueError as error:
            failures.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert failures == []


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGUSR1, 128 + signal.SIGUSR1), (signal.SIGHUP, 129)],
)
def test_exit_codes_are_those_of_shells(number: signal.Signals, code: int) -> None:
    assert Interrupted("stopped", number).exit_code == code

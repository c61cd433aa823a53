"""The launcher, with small shell scripts in the place of trainings: who ends how, and that nobody is left behind."""

import os
import re
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import patch

import pytest
from kills.processes import MARK, marked

from nmtkit.commands import launched, launcher
from nmtkit.commands.launched import Start, environments, python
from nmtkit.commands.launcher import OUT_OF_TIME, Launcher, Times
from nmtkit.errors import NmtkitError
from nmtkit.training.membership import PORTS, membership
from nmtkit.training.signals import HANDLED, SECONDS_AT_ONCE

SOON = Times(by_themselves=0.05)
DEAF = Times(by_themselves=0.05, after_sigterm=0.05)
FOR_A_WHILE = "for i in 1 2 3 4 5 6 7 8; do sleep 0.05; done"
GOES_ON = "while :; do sleep 0.01; done"
ONCE_TOLD = "until [ -e $TOLD ]; do sleep 0.01; done"
TEN_SECONDS = "the others have 10 s to end by themselves"


def assert_none_left(mark: str) -> None:
    """What was sent SIGKILL ends soon."""
    until = time.monotonic() + 30
    while marked(mark):
        assert time.monotonic() < until, "a process outlived its launcher"
        time.sleep(0.001)


class Scene:
    """Scripts that are launched; what is heard and told of them; none of their processes outlives the launcher."""

    def __init__(self, folder: Path) -> None:
        self.flag = folder / "told"
        self.mark = secrets.token_hex(8)
        self.heard: list[tuple[int, bytes]] = []
        self.told: list[str] = []
        self.launcher: Launcher | None = None
        self.to_send: list[int] = []
        """Signals that this process sends itself, one each time when as many processes as there are say "ready"."""
        self._ranks = 0

    def run(self, *scripts: str, **options: object) -> int:
        self._ranks = len(scripts)
        environs = environments(len(scripts), {**os.environ, MARK: self.mark, "TOLD": str(self.flag)})
        starts = [Start(["sh", "-c", script], environ, True) for script, environ in zip(scripts, environs, strict=True)]
        self.launcher = Launcher(self._hear, self._tell, **options)
        try:
            return self.launcher.run(starts)
        finally:
            assert_none_left(self.mark)

    def said(self, rank: int) -> list[bytes]:
        return [line for whose, line in self.heard if whose == rank]

    def _tell(self, message: str) -> None:
        self.told.append(message)
        self.flag.touch()

    def _hear(self, rank: int, line: bytes) -> None:
        self.heard.append((rank, line))
        ready = sum(b"ready" in line for _, line in self.heard)
        if self.to_send and ready and ready % self._ranks == 0 and b"ready" in line:
            number = self.to_send.pop(0)
            if number in self.launcher.received:
                time.sleep(SECONDS_AT_ONCE)
            os.kill(os.getpid(), number)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


# How it begins


def test_each_process_is_told_its_place(scene, monkeypatch):
    monkeypatch.setattr(launched, "processors", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS")
    names = [
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "LOCAL_WORLD_SIZE",
        "MASTER_ADDR",
        "OMP_NUM_THREADS",
        "NMTKIT_LAUNCHED",
    ]
    script = f"echo {' '.join(f'${name}' for name in names)}; echo $MASTER_PORT"
    assert scene.run(script, script) == 0
    assert scene.said(0)[0] == b"0 2 0 2 127.0.0.1 4 1"
    assert scene.said(1)[0] == b"1 2 1 2 127.0.0.1 4 1"
    assert scene.said(0)[1] == scene.said(1)[1]
    assert scene.told == []


def test_threads_that_are_given_stay(monkeypatch):
    monkeypatch.setattr(launched, "processors", lambda: 3)
    assert environments(2, {"OMP_NUM_THREADS": "7"})[1]["OMP_NUM_THREADS"] == "7"
    assert environments(2, {})[0]["OMP_NUM_THREADS"] == "1"
    assert environments(8, {})[0]["OMP_NUM_THREADS"] == "1"


def test_variables_of_a_torchrun_further_out_are_kept_away():
    outer = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_PORT": "1", "TORCHELASTIC_USE_AGENT_STORE": "True"}
    (first, second) = environments(2, outer)
    assert "TORCHELASTIC_USE_AGENT_STORE" not in first
    assert membership(second)[:4] == (1, 2, 1, 2)


def test_ports_that_are_taken_are_passed_over(monkeypatch):
    with launched.socket.socket() as taken, launched.socket.socket() as other:
        taken.bind(("", 0))
        taken.listen()
        other.bind(("", 0))
        ports = taken.getsockname()[1], other.getsockname()[1]
        monkeypatch.setattr(launched.SystemRandom, "choice", lambda _, ports_: next(tries))
        tries = iter(ports)
        other.close()
        assert environments(2, {})[0]["MASTER_PORT"] == str(ports[1])
        tries = iter([ports[0]] * 100)
        with pytest.raises(NmtkitError, match=f"of the ports {PORTS[0]} to {PORTS[-1]} none is free"):
            environments(2, {})


def test_each_process_has_a_session_of_its_own_and_no_input(scene):
    scene.run(*["cut -d' ' -f6 /proc/$$/stat; echo $$; cat"] * 2)
    for rank in (0, 1):
        session, process = scene.said(rank)
        assert session == process


def test_python_imports_from_here_only_if_this_process_does(monkeypatch):
    monkeypatch.setattr(sys, "path", ["/lib", "/bin"])
    assert python("-m", "x") == [sys.executable, "-P", "-m", "x"]
    monkeypatch.setattr(sys, "path", [str(Path.cwd()), "/lib"])
    assert python("-m", "x") == [sys.executable, "-m", "x"]


def test_a_program_that_does_not_exist_ends_those_that_were_started():
    mark = secrets.token_hex(8)
    environ = {**os.environ, MARK: mark}
    starts = [Start(["sh", "-c", GOES_ON], environ, True), Start(["no-such-program"], environ, True)]
    with pytest.raises(FileNotFoundError):
        Launcher(print, print).run(starts)
    assert_none_left(mark)


# What is heard


def test_lines_come_whole_and_the_last_without_its_end(scene):
    scene.run(r"printf 'a\n\nb'; sleep 0.05; printf 'c\n\303\244'; printf ' e\n' >&2; printf end", "exit 0")
    assert scene.said(0) == [b"a", b"", b"bc", b"\xc3\xa4 e", b"end"]


def test_an_endless_line_comes_in_pieces(scene, monkeypatch):
    monkeypatch.setattr(launched, "LONGEST_LINE", 1000)
    scene.run("head -c 5000 /dev/zero; sleep 0.05; echo")
    assert len(scene.said(0)) > 1
    assert b"".join(scene.said(0)) == bytes(5000)


def test_a_process_that_closes_its_output_is_waited_for(scene):
    assert scene.run("exec >&- 2>&-; sleep 0.1; exit 4") == 4


# Who fails


def test_the_code_of_the_first_that_fails(scene):
    assert scene.run(GOES_ON, "exit 3", GOES_ON, times=SOON) == 3
    assert scene.told == [
        "rank 1 ended with exit code 3; the others have 0.05 s to end by themselves",
        "2 ranks still at work: ended by SIGTERM",
    ]


def test_the_others_end_by_themselves_with_their_own_words(scene):
    assert scene.run(f"{ONCE_TOLD}; echo rank 1 is lost; exit 1", "exit 70") == 70
    assert scene.said(0) == [b"rank 1 is lost"]
    assert scene.told == [f"rank 1 ended with exit code 70; {TEN_SECONDS}", "rank 0 ended with exit code 1"]


@pytest.mark.parametrize(
    ("number", "how"),
    [
        (
            signal.SIGKILL,
            "by SIGKILL, maybe by the kernel for want of memory: see its log, lower train.batch.tokens_per_t",
        ),
        (signal.SIGSEGV, "by SIGSEGV"),
        (40, "by signal 40"),
    ],
)
def test_a_process_that_a_signal_ends(scene, number, how):
    assert scene.run(f"kill -{int(number)} $$", f"{ONCE_TOLD}; exit 9") == 1
    assert scene.told[0].startswith(f"rank 0 was ended {how}")
    assert scene.told[1:] == ["rank 1 ended with exit code 9"]


def test_a_signal_rather_than_a_code_is_the_cause(scene, monkeypatch):
    """Where both are seen at once."""

    def wait_for_all(launcher, selector):
        for process in launcher._processes:
            os.waitid(os.P_PID, process._popen.pid, os.WEXITED | os.WNOWAIT)

    monkeypatch.setattr(Launcher, "_wait", wait_for_all)
    assert scene.run("exit 5", "kill -9 $$") == 1
    assert [told.partition(" ended")[0] for told in scene.told] == ["rank 1 was", "rank 0"]


@pytest.mark.parametrize(
    "script",
    [f"trap '' TERM; touch $TOLD.$RANK; {GOES_ON}", "touch $TOLD.$RANK; kill -STOP $$"],
    ids=["deaf", "stopped"],
)
def test_the_last_means(scene, script):
    once_ready = "until [ -e $TOLD.0 -a -e $TOLD.1 ]; do sleep 0.01; done"
    assert scene.run(script, script, f"{once_ready}; exit 6", times=DEAF) == 6
    assert scene.told[1:] == ["2 ranks still at work: ended by SIGTERM", "2 ranks still at work: ended by SIGKILL"]


def test_what_processes_leave_behind_is_ended(scene):
    assert scene.run("sleep 1000 & exit 0", "sleep 1000 & exit 2") == 2


def test_a_time_limit(scene):
    assert scene.run(GOES_ON, limit=0.1) == OUT_OF_TIME
    assert scene.told == ["not done within 0.1 s", "rank 0 still at work: ended by SIGTERM"]


# Signals

HEARS = """n=0
hear() { n=$((n + 1)); echo $1 $n ready; [ $n = 2 ] && exit $2; }
trap 'hear INT 130' INT; trap 'hear TERM 143' TERM; trap 'hear USR1 0' USR1
echo ready
while :; do sleep 0.01; done"""


@pytest.mark.parametrize(("name", "code"), [("INT", 130), ("TERM", 143), ("USR1", 0)])
def test_the_first_and_the_second_signal_reach_all(scene, name, code):
    number = signal.Signals[f"SIG{name}"]
    scene.to_send = [number, number]
    assert scene.run(HEARS, HEARS) == code
    for rank in (0, 1):
        assert scene.said(rank) == [b"ready", f"{name} 1 ready".encode(), f"{name} 2 ready".encode()]
    assert scene.launcher.received == [number, number]
    assert scene.told == []


def test_the_same_signal_once_more_at_once_is_not_a_second_one(scene):
    number = signal.SIGTERM
    scene.to_send = [number, number]
    with patch.object(launcher, "SECONDS_AT_ONCE", 1000.0):
        # Who hears of two ends with another code.
        script = f"trap 'echo ready; trap \"exit 9\" TERM' TERM; echo ready; {FOR_A_WHILE}"
        assert scene.run(script) == 0
    assert scene.launcher.received == [number]


def test_a_closed_terminal_is_no_second_signal(scene, closable):
    scene.to_send = [signal.SIGHUP, signal.SIGHUP, signal.SIGHUP]
    script = f"n=0; trap 'n=$((n + 1)); echo ready $n' HUP; echo ready; {FOR_A_WHILE}"
    assert scene.run(script, script) == 0
    assert scene.said(0) == scene.said(1) == [b"ready", b"ready 1"]
    assert scene.launcher.received == [signal.SIGHUP]


def test_a_signal_behind_a_closed_terminal_is_the_first(scene, closable):
    """At the end of a session: what is being saved is saved."""
    scene.to_send = [signal.SIGHUP, signal.SIGTERM]
    script = f"trap 'echo ready' HUP; trap 'sleep 0.3; echo saved; exit 143' TERM; echo ready; {GOES_ON}"
    assert scene.run(script, script, times=Times(0.05, 0.05, 0.05)) == 143
    assert scene.said(0) == scene.said(1) == [b"ready", b"ready", b"saved"]
    assert scene.launcher.received == [signal.SIGHUP, signal.SIGTERM]
    assert scene.told == []


def test_a_closed_terminal_that_is_to_be_ignored_reaches_nobody(scene, closable):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    scene.to_send = [signal.SIGHUP]
    assert scene.run(f"trap 'echo closed' HUP; echo ready; {FOR_A_WHILE}") == 0
    assert scene.said(0) == [b"ready"]
    assert scene.launcher.received == []


def test_after_the_first_signal_there_is_time(scene):
    """A process that is done earlier is no reason to press the one that still saves."""
    scene.to_send = [signal.SIGTERM]
    script = "trap 'exit 143' TERM; echo ready; while :; do sleep 0.01; done"
    saves = f"trap 'sleep 0.3; echo saved; exit 143' TERM; echo ready; {GOES_ON}"
    assert scene.run(saves, script, times=Times(0.05, 0.05, 0.05)) == 143
    assert scene.said(0) == [b"ready", b"saved"]
    assert scene.told == []


def test_one_that_does_not_listen_is_ended_after_the_second_signal(scene):
    scene.to_send = [signal.SIGINT, signal.SIGINT]
    deaf = f"trap 'echo ready' INT; trap '' TERM; echo ready; {GOES_ON}"
    assert scene.run(deaf, times=DEAF) == 130
    assert scene.told == ["rank 0 still at work: ended by SIGTERM", "rank 0 still at work: ended by SIGKILL"]


def test_a_third_signal_ends_all_at_once(scene):
    scene.to_send = [signal.SIGINT, signal.SIGTERM, signal.SIGINT]
    deaf = f"trap 'echo ready' INT TERM; echo ready; {GOES_ON}"
    assert scene.run(deaf, deaf, times=Times(by_themselves=1000)) == 130
    assert scene.told == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ending_by_a_signal_that_was_passed_on_is_no_failure(scene, number):
    scene.to_send = [number]
    assert scene.run(f"echo ready; {GOES_ON}", "echo ready; exec sleep 1000") == 128 + number
    assert scene.told == []


def test_a_failure_after_a_signal_is_one(scene):
    scene.to_send = [signal.SIGTERM]
    fails = "trap 'exit 1' TERM; echo ready; while :; do sleep 0.01; done"
    assert scene.run(fails, f"trap '' TERM; echo ready; {GOES_ON}", times=DEAF) == 1
    assert scene.told[0] == "rank 0 ended with exit code 1; the others have 0.05 s to end by themselves"


def test_handlers_are_as_they_were(scene):
    before = [signal.getsignal(number) for number in HANDLED]
    scene.run("exit 0")
    assert [signal.getsignal(number) for number in HANDLED] == before


# The launcher ends

PROGRAM = """
import os, sys
from nmtkit.commands.launched import Start
from nmtkit.commands.launcher import Launcher
Launcher(lambda rank, line: print(line.decode(), flush=True), print).run(
    [Start(["sh", "-c", "echo $$; exec sleep 1000"], os.environ, True) for _ in range(2)]
)
"""


def test_a_launcher_that_is_killed_leaves_nobody():
    mark = secrets.token_hex(8)
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, env={**os.environ, MARK: mark}
    ) as launcher:
        numbers = [int(launcher.stdout.readline()) for _ in range(2)]
        assert {int(path.name) for path in marked(mark)} == {launcher.pid, *numbers}
        launcher.kill()
    assert_none_left(mark)


def test_ctrl_c_on_a_terminal_reaches_processes_once():
    """As a terminal sends it: to the whole group in front, of which the launched processes are none."""
    script = "trap 'echo got' INT; echo $$; while :; do sleep 0.01; done"
    program = PROGRAM.replace("echo $$; exec sleep 1000", script)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, start_new_session=True) as launcher:
        numbers = {launcher.stdout.readline() for _ in range(2)}
        os.killpg(launcher.pid, signal.SIGINT)
        assert [launcher.stdout.readline() for _ in range(2)] == [b"got\n"] * 2
        for number in numbers:
            os.kill(int(number), signal.SIGKILL)
        rest, _ = launcher.communicate(timeout=30)
    assert len(re.findall(rb"got", rest)) == 0

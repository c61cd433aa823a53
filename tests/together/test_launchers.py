"""torchrun, on one machine and as on several: what it starts trains what one process trains, and goes on likewise."""

import os
import re
import secrets
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from kills.processes import Forked, Moment
from toy.projects import Project

from together.launchers import LAUNCHERS, Started, free_port, launched, torchrun
from together.teams import arguments, strike, trained
from together.trainings import PARALLEL, SETTINGS, close, counts, losses

UPDATE = Moment("before", "nmtkit.training.trainer:Trainer._update", 9)
TWELVE, TWENTY = ((*SETTINGS, f"train.stop.updates={updates}") for updates in (12, 20))


@pytest.fixture(scope="module")
def alone(prepared: Project, team: Forked, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A training in one process. Not to be changed."""
    return trained(team, prepared.copy(tmp_path_factory.mktemp("alone") / "project"), 1, *TWENTY)


def assert_equal(project: Project, alone: Project) -> None:
    assert counts(project) == counts(alone)
    assert close(losses(project), losses(alone))


@pytest.mark.slow
def test_torchrun(fresh: Project, alone: Project) -> None:
    ended = launched(LAUNCHERS["torchrun"], arguments(fresh, *TWENTY))
    assert ended.code == 0, ended.said
    assert ended.said.count("2 processes, train.parallel = 'replicate'") == 1
    assert_equal(fresh, alone)


@pytest.mark.full
@pytest.mark.parametrize("rank", [0, 1])
def test_torchrun_starts_processes_again(fresh: Project, alone: Project, rank: int) -> None:
    """They meet in the same store as those that were lost."""
    struck = strike("SIGKILL", UPDATE, "--only", f"RANK={rank}", "--only", "TORCHELASTIC_RESTART_COUNT=0")
    again = torchrun("--standalone", "--nproc-per-node", "2", "--max-restarts", "1")
    every = "train.checkpoints={every=2, keep_last=2, average=2}"
    ended = launched(again, arguments(fresh, *TWENTY, every), struck)
    assert ended.code == 0, ended.said
    assert re.search("^going on behind update [468]$", ended.said, re.MULTILINE), ended.said
    assert counts(fresh) == counts(alone)
    assert close(losses(fresh), losses(alone))


class Machine(NamedTuple):
    """A machine of two, which may be a network namespace of this one."""

    within: Sequence[str]
    address: str


HERE = Machine([], "127.0.0.1")


def on(machines: Sequence[Machine], command: Sequence[str], struck: Sequence[str] = ()) -> list[Started]:
    """Start torchrun on two machines, a process on each."""
    port = free_port()
    place = ("--nnodes", "2", "--nproc-per-node", "1", "--master-addr", machines[0].address, "--master-port", port)
    return [
        Started(torchrun(*place, "--node-rank", str(rank)), command, struck, within=machine.within)
        for rank, machine in enumerate(machines)
    ]


def train_on(machines: Sequence[Machine], project: Project, *settings: str) -> None:
    """Train on two machines and see that it ends well."""
    for started in on(machines, arguments(project, *settings)):
        ended = started.ended()
        assert ended.code == 0, ended.said
        assert "nmtkit: " not in ended.said


@pytest.mark.full
@pytest.mark.parametrize("parallel", PARALLEL)
def test_two_launchers_on_one_machine(fresh: Project, alone: Project, parallel: str) -> None:
    train_on((HERE, HERE), fresh, *TWELVE, PARALLEL[parallel])
    train_on((HERE, HERE), fresh, *TWENTY, PARALLEL[parallel])
    assert_equal(fresh, alone)


def ip(*words: str) -> None:
    """Run `ip`; skip where that is not allowed."""
    try:
        done = subprocess.run(["ip", *words], capture_output=True, check=False)
    except OSError as error:
        pytest.skip(f"network namespaces need the program ip: {error}")
    if done.returncode:
        pytest.skip(f"ip {' '.join(words)}: {done.stderr.decode().strip()}")


@pytest.fixture
def two_networks() -> Iterator[tuple[Machine, Machine]]:
    """Two network namespaces joined by a cable."""
    name = f"nmt{secrets.token_hex(3)}"
    names, ends = [f"{name}-{number}" for number in (1, 2)], [f"{name}{number}" for number in (1, 2)]
    addresses = ["192.0.2.1", "192.0.2.2"]
    made: list[str] = []
    try:
        for namespace in names:
            ip("netns", "add", namespace)
            made.append(namespace)
        ip("link", "add", ends[0], "netns", names[0], "type", "veth", "peer", "name", ends[1], "netns", names[1])
        for namespace, end, address in zip(names, ends, addresses, strict=True):
            ip("-n", namespace, "addr", "add", f"{address}/24", "dev", end)
            for device in ("lo", end):
                ip("-n", namespace, "link", "set", device, "up")
        first, second = (
            Machine(["ip", "netns", "exec", namespace], address)
            for namespace, address in zip(names, addresses, strict=True)
        )
        yield first, second
    finally:
        for namespace in made:
            subprocess.run(["ip", "netns", "del", namespace], check=False)


@pytest.mark.full
def test_two_networks(fresh: Project, alone: Project, two_networks: tuple[Machine, Machine]) -> None:
    """Nobody names the interface: the name of this machine, which gloo would look up, leads to neither."""
    assert "GLOO_SOCKET_IFNAME" not in os.environ
    train_on(two_networks, fresh, *TWELVE)
    train_on(two_networks, fresh, *TWENTY)
    assert_equal(fresh, alone)


@pytest.mark.full
@pytest.mark.parametrize("lost", [0, 1])
def test_a_cable_that_is_pulled(fresh: Project, two_networks: tuple[Machine, Machine], lost: int) -> None:
    """No connection is closed, no packet comes: silence tells."""
    settings = (*SETTINGS, "train.stop.updates=100000", "train.timeout=15", "train.validation.every=0")
    namespace = two_networks[lost].within[-1]
    name, number = namespace.split("-")
    started = on(two_networks, arguments(fresh, *settings))
    wait_for(fresh.run.metrics, started[0])
    ip("-n", namespace, "link", "set", f"{name}{number}", "down")
    first, second = (each.ended() for each in started)
    assert (first.code, second.code) == (1, 1)
    # Each has the other at the other end of it; the store is on the first.
    assert "nmtkit: error: rank 1 (process " in first.said, first.said
    assert "nmtkit: error: rank 0 (process " in second.said, second.said
    for ended in (first, second):
        assert "has not answered for 15 seconds; its last update was " in ended.said


def wait_for(file: Path, started: Started) -> None:
    """Wait until something stands in a file that a training writes."""
    while not (file.exists() and file.stat().st_size):
        assert started.process.poll() is None
        os.sched_yield()


@pytest.mark.full
@pytest.mark.parametrize("rank", [0, 1])
def test_a_machine_whose_process_is_killed(fresh: Project, rank: int) -> None:
    settings = (*SETTINGS, "train.stop.updates=100000", "train.validation.every=0")
    struck = strike("SIGKILL", UPDATE, "--only", f"RANK={rank}")
    started = on((HERE, HERE), arguments(fresh, *settings), struck)
    ended = [each.ended() for each in started]
    assert [each.code for each in ended] == [1, 1]
    assert f"nmtkit: error: rank {rank} (process " in ended[1 - rank].said, ended[1 - rank].said
    assert "its last update was 8." in ended[1 - rank].said

"""Joining a group: what is said while the others do not come, and how it is given up."""

import os
import signal
import subprocess
import sys

import pytest
import torch

from nmtkit.commands.launched import environments
from nmtkit.errors import NmtkitError
from nmtkit.training import group
from nmtkit.training.membership import Membership

WAIT = """
import signal, sys
import torch
from nmtkit.errors import raise_terminated
from nmtkit.training import group
from nmtkit.training.membership import Membership

rank, port = map(int, sys.argv[1:])
group.SECONDS_UNTIL_SAID = 0.0
signal.signal(signal.SIGTERM, raise_terminated)  # as the command line does
signal.signal(signal.SIGINT, signal.default_int_handler)
group.ProcessGroup(Membership(rank, 2, 0, 1, "127.0.0.1", port, "torchrun"), torch.device("cpu"), timeout=60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
@pytest.mark.parametrize("rank", [0, 1])
def test_who_waits_for_others_says_so_and_ends_by_a_signal(number: signal.Signals, rank: int) -> None:
    port = environments(1, {})[0]["MASTER_PORT"]
    quiet = {**os.environ, "TORCH_CPP_LOG_LEVEL": "ERROR"}  # as the command line sets it
    command = [sys.executable, "-c", WAIT, str(rank), port]
    with subprocess.Popen(command, env=quiet, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline() == (
                f"warning: process {rank} of 2: waiting for the others at 127.0.0.1:{port}, 10 minutes at most; see "
                "that all of them are started, and that this address and port can be reached from each machine\n"
            )
            process.send_signal(number)
            assert process.wait(timeout=60) == -number
        finally:
            process.kill()


def test_the_first_that_comes_late_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others ask torch for it once it is there, and not before."""
    waited = []
    monkeypatch.setattr(group, "await_listener", lambda *place: waited.append(place))
    monkeypatch.setattr(group, "TCPStore", lambda *_: pytest.fail("nobody was waited for") if not waited else fail())

    def fail() -> None:
        raise RuntimeError("enough")

    others = Membership(1, 2, 1, 2, "127.0.0.1", 29_999, "slurm")
    with pytest.raises(NmtkitError, match=r"process 1 of 2: .* did not find each other at 127.0.0.1:29999 \(enough\)"):
        group.ProcessGroup(others, torch.device("cpu"), timeout=60)
    assert waited == [("127.0.0.1", 29_999, 600.0)]

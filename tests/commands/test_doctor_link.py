"""The link between devices: what is measured, and how a failure or a hang is told."""

import os
import re
import signal
import sys

import pytest
import torch

from nmtkit.commands import doctor_link
from nmtkit.commands.doctor_link import GLOO, MIB, NCCL, links
from nmtkit.commands.launcher import Times
from nmtkit.errors import Terminated

SOON = Times(by_themselves=0.05, after_sigterm=0.05)


@pytest.fixture
def instead(monkeypatch):
    """Run a shell script in the place of each process that sums."""

    def use(script):
        monkeypatch.setattr(doctor_link, "python", lambda *arguments: ["sh", "-c", script, *arguments])

    return use


def test_each_size_has_a_row_with_its_rate_by_the_formula(instead):
    instead("""[ $RANK = 0 ] && echo '{"seconds": [0.001, 0.01, 0.02]}'; exit 0""")
    found = list(links("cpu"))
    assert [row.what for row in found] == ["gloo 1 MiB", "gloo 16 MiB", "gloo 64 MiB"]
    assert {row.state for row in found} == {"ok"}
    assert found[1].found == "1.68 GB/s among 2 processes, as 2 (n - 1) / n of 16 MiB in 10.00 ms"
    assert found[1].figures == {
        "processes": 2,
        "bytes": 16 * MIB,
        "seconds": 0.01,
        "gigabytes_per_second": pytest.approx(16 * MIB / 0.01 / 1e9),
    }


def test_several_gpus_are_joined_too(instead, monkeypatch):
    instead("""[ $RANK = 0 ] && echo "{\\"seconds\\": [0.001, 0.01, 0.$WORLD_SIZE]}"; exit 0""")
    monkeypatch.setattr(doctor_link, "_gpus", lambda: 4)
    gloo, nccl = list(links("auto"))[2:6:3]
    assert (gloo.figures["processes"], gloo.figures["seconds"]) == (2, 0.2)
    assert nccl.what == "nccl 256 MiB"
    assert nccl.figures["gigabytes_per_second"] == pytest.approx(1.5 * 256 * MIB / 0.4 / 1e9)
    assert "among 4 GPUs" in nccl.found
    assert len(list(links("cpu"))) == 3
    monkeypatch.setattr(doctor_link, "_gpus", lambda: 1)
    assert len(list(links("auto"))) == 3


def test_gpus_are_counted(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert doctor_link._gpus() == 2
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert doctor_link._gpus() == 0


def test_a_failure_is_a_row_with_the_last_words(instead, monkeypatch):
    fails = "echo Traceback; echo 'RuntimeError: no route to host'; exit 1"
    instead(f"[ $RANK = 1 ] || {{ echo waiting; while :; do sleep 0.01; done; }}; {fails}")
    monkeypatch.setattr(doctor_link, "_gpus", lambda: 2)
    gloo, nccl = links("auto", times=SOON)
    for row in (gloo, nccl):
        assert row.found == "rank 1 ended with exit code 1: RuntimeError: no route to host"
    assert (gloo.what, gloo.state, gloo.remedy) == ("gloo", "warning", GLOO.remedy)
    assert (nccl.what, nccl.state, nccl.remedy) == ("nccl", "fault", NCCL.remedy)


def test_a_hang_is_a_row(instead):
    instead("echo waiting; while :; do sleep 0.01; done")
    (row,) = links("cpu", limit=0.2, times=SOON)
    assert (row.what, row.state) == ("gloo", "warning")
    assert row.found == "2 processes did not come to an end within 0.2 s: waiting"


def test_an_end_without_figures_is_a_row(instead):
    instead("exit 0")
    (row,) = links("cpu")
    assert (row.found, row.state) == ("no figures came", "warning")


@pytest.mark.parametrize(("number", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)])
def test_a_signal_ends_the_command(instead, number, raised):
    instead(f"[ $RANK = 0 ] && kill -{int(number)} $PPID; exec sleep 1000")
    with pytest.raises(raised):
        list(links("cpu"))


def test_another_system(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    (row,) = links("cpu")
    assert (row.state, "Linux only" in row.found) == ("ok", True)


def test_it_is_no_command_for_people(monkeypatch):
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SystemExit, match="nmtkit doctor"):
        doctor_link.main()


@pytest.mark.slow
def test_two_processes_sum_by_gloo():
    found = list(links("cpu"))
    assert [(row.what, row.state) for row in found] == [(f"gloo {size} MiB", "ok") for size in GLOO.sizes], found
    assert all(0 < row.figures["seconds"] < 60 for row in found)


@pytest.mark.slow
def test_a_real_failure_is_a_row(monkeypatch):
    monkeypatch.setitem(os.environ, "GLOO_SOCKET_IFNAME", "no-such-interface")
    (row,) = links("cpu")
    assert row.state == "warning"
    assert re.match(r"rank [01] ended with exit code 1: .*no-such-interface", row.found)

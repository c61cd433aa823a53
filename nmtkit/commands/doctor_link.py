"""The link between devices, of `nmtkit doctor`: processes that add up tensors together by gloo or NCCL, and how fast.

Run as a program, this module is one of these processes.
"""

import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from nmtkit.commands.doctor_checks import Finding, State
from nmtkit.commands.launched import Start, environments, python
from nmtkit.commands.launcher import OUT_OF_TIME, Launcher, Times
from nmtkit.errors import Terminated
from nmtkit.training.membership import Membership, membership

if TYPE_CHECKING:
    import torch

MIB = 2**20
WARM_UP, TIMED = 2, 5
"""Sums of each size: the first are slower, as connections and buffers are made."""

PROGRAM = ("-m", "nmtkit.commands.doctor_link")
RESULT = b'{"seconds": '
"""How the line begins by which the first process tells what it measured; all else that is said is about trouble."""


class Backend(NamedTuple):
    """A library that joins processes."""

    name: str
    device: str
    sizes: tuple[int, ...]
    """MiB of 32-bit floats."""
    state: State
    """What it is if it does not work."""
    remedy: str


GLOO = Backend(
    "gloo",
    "cpu",
    (1, 16, 64),
    "warning",
    "training in several processes will not work, in one it will; see that this machine's name leads to it, or name a "
    "network interface with GLOO_SOCKET_IFNAME=lo",
)
NCCL = Backend(
    "nccl",
    "cuda",
    (1, 16, 256),
    "fault",
    "training on several GPUs will not work, with --gpus 1 it will; NCCL_DEBUG=INFO tells more, NCCL_P2P_DISABLE=1 "
    "helps where GPUs cannot reach each other, and a container needs shared memory (--ipc=host)",
)


def links(device: str, *, limit: float = 120.0, times: Times | None = None) -> Iterator[Finding]:
    """Report how fast processes exchange tensors: two on the processor; where there are several GPUs, one on each too.

    Gives up after `limit` seconds for each library.
    """
    if sys.platform != "linux":
        yield Finding("gloo", "not tried, as nmtkit starts several processes on Linux only")
        return
    yield from link(GLOO, 2, limit, times)
    gpus = _gpus() if device != "cpu" else 0
    if gpus > 1:
        yield from link(NCCL, gpus, limit, times)


def link(backend: Backend, processes: int, limit: float, times: Times | None) -> Iterator[Finding]:
    """Yield a finding for each size, or one that says why there are none."""
    measured: list[float] = []
    said = [""] * processes
    told: list[str] = []

    def hear(rank: int, line: bytes) -> None:
        if line.startswith(RESULT):
            measured.extend(json.loads(line)["seconds"])
        elif line.strip():
            said[rank] = line.decode("utf-8", "replace").strip()

    command = python(*PROGRAM, backend.name, *map(str, backend.sizes))
    starts = [Start(command, environ, by_line=True) for environ in environments(processes, os.environ)]
    launcher = Launcher(hear, told.append, times=times, limit=limit)
    code = launcher.run(starts)
    if launcher.received:
        raise Terminated if launcher.received[0] == signal.SIGTERM else KeyboardInterrupt
    if code == 0 and len(measured) == len(backend.sizes):
        for size, seconds in zip(backend.sizes, measured, strict=True):
            yield _measured(backend, processes, size * MIB, seconds)
        return
    found = told[0].partition(";")[0] if told else "no figures came"
    if code == OUT_OF_TIME:
        found = f"{processes} processes did not come to an end within {limit:g} s"
    # The words of the rank that failed first, of which the others only say that it is gone.
    words = [said[int(failed[1])] if (failed := re.match("rank ([0-9]+)", found)) else "", *said]
    last = next((line for line in words if line), "")
    yield Finding(backend.name, found + (f": {last[:200]}" if last else ""), backend.state, backend.remedy)


def _measured(backend: Backend, processes: int, size: int, seconds: float) -> Finding:
    """Return what a sum took, as bus bandwidth: the rate at which each device sends, and receives, at the least.

    Each has 2 (n - 1) / n of the bytes to send, whatever the algorithm (Patarasuk and Yuan 2009, "Bandwidth optimal
    all-reduce algorithms for clusters of workstations"), so the figure compares with that of the wire.
    """
    rate = 2 * (processes - 1) / processes * size / seconds / 1e9
    who = f"{processes} GPUs" if backend is NCCL else f"{processes} processes"
    found = f"{rate:.2f} GB/s among {who}, as 2 (n - 1) / n of {size // MIB} MiB in {1e3 * seconds:.2f} ms"
    figures = {"processes": processes, "bytes": size, "seconds": seconds, "gigabytes_per_second": rate}
    return Finding(f"{backend.name} {size // MIB} MiB", found, figures=figures)


def _gpus() -> int:
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def work(member: Membership, backend: str, sizes: list[int]) -> list[float]:
    """Sum tensors of these sizes (MiB) with the other processes; return the seconds of a sum of each size.

    Raises RuntimeError where a sum is wrong.
    """
    import torch
    import torch.distributed as dist

    device = torch.device("cpu" if backend == GLOO.name else f"cuda:{member.local_rank}")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group(backend, rank=member.rank, world_size=member.ranks, timeout=timedelta(seconds=60))
    found = []
    for size in sizes:
        tensor = torch.full((size * MIB // 4,), member.rank + 1.0, device=device)
        dist.all_reduce(tensor)
        expected = member.ranks * (member.ranks + 1) / 2
        if not bool((tensor == expected).all()):
            raise RuntimeError(f"the sum of {size} MiB is wrong: not {expected:g} everywhere")
        tensor.zero_()
        began = 0.0
        for number in range(WARM_UP + TIMED):
            if number == WARM_UP:
                _synchronize(device)
                began = time.perf_counter()
            dist.all_reduce(tensor)
        _synchronize(device)
        slowest = torch.tensor([(time.perf_counter() - began) / TIMED], device=device)
        dist.all_reduce(slowest, dist.ReduceOp.MAX)
        found.append(slowest.item())
    dist.destroy_process_group()
    return found


def _synchronize(device: "torch.device") -> None:
    if device.type == "cuda":
        import torch

        torch.cuda.synchronize(device)


def main() -> None:
    """Be one of the processes."""
    member = membership(os.environ)
    if member is None:
        raise SystemExit("one of the processes that nmtkit doctor starts; call that")
    backend, *sizes = sys.argv[1:]
    seconds = work(member, backend, [int(size) for size in sizes])
    if member.rank == 0:
        sys.stdout.write(json.dumps({"seconds": seconds}) + "\n")


if __name__ == "__main__":
    main()

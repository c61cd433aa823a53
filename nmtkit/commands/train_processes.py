"""`nmtkit train --gpus N` and `--processes N`: the same command in N processes of this machine, without torch."""

import contextlib
import ctypes
import os
import sys
from pathlib import Path
from typing import NamedTuple

from nmtkit.commands.launched import Start, environments, python
from nmtkit.commands.launcher import Launcher
from nmtkit.errors import AlreadySaid, ConfigError
from nmtkit.log import Log, counted
from nmtkit.training.membership import Membership

CUDA_ERROR_NO_DEVICE = 100
"""What the driver of CUDA answers where there is none (cuda.h)."""

AMD = Path("/dev/kfd")
"""The device by which GPUs of AMD, which have another driver, are told from none."""

_STARTERS = {"nmtkit": "nmtkit train", "torchrun": "torchrun (--nproc-per-node)", "slurm": "srun (--ntasks-per-node)"}


class Asked(NamedTuple):
    """Where a training computes, and in how many processes that this one has to start: 1 where it trains itself."""

    device: str
    processes: int


def check_options(gpus: int | None, processes: int | None, device: str) -> None:
    """Raise ConfigError where `--gpus`, `--processes` and `--device` contradict each other."""
    if gpus is not None and processes is not None:
        raise ConfigError(
            "--gpus and --processes: the one asks for GPUs, the other for the processor; give one of them"
        )
    if gpus is not None and device == "cpu":
        raise ConfigError(f"--gpus {gpus}: --device cpu computes on none; give --processes {gpus}, or another --device")
    if gpus is not None and gpus > 1 and device not in ("auto", "cuda"):
        raise ConfigError(
            f"--gpus {gpus}: takes the first {gpus} GPUs, not --device {device}; leave --device away, and choose GPUs "
            "by their numbers in CUDA_VISIBLE_DEVICES"
        )
    if processes is not None and device not in ("auto", "cpu"):
        raise ConfigError(
            f"--processes {processes}: asks for the processor, --device {device} does not; give --gpus N for GPUs, or "
            "leave --device away"
        )


def asked(gpus: int | None, processes: int | None, device: str, member: Membership | None) -> Asked:
    """Return what the options `--gpus`, `--processes` and `--device` say together.

    A process that is one of several already starts no others. Raises ConfigError where the options contradict each
    other, where others were started than they ask for, or where there are fewer GPUs.
    """
    check_options(gpus, processes, device)
    if gpus is not None:
        return _on_gpus(gpus, device, member)
    if processes is not None:
        return Asked("cpu", _to_start("--processes", processes, member))
    if member is not None and member.local_ranks > 1 and device.startswith("cuda:"):
        raise ConfigError(
            f"--device {device}: {_STARTERS[member.launcher]} started {member.local_ranks} processes on this machine, "
            "which would all compute on this one GPU; leave --device away, and choose GPUs by their numbers in "
            "CUDA_VISIBLE_DEVICES"
        )
    return Asked(device, 1)


def _on_gpus(gpus: int, device: str, member: Membership | None) -> Asked:
    start = _to_start("--gpus", gpus, member)
    if gpus == 1:
        return Asked("cuda" if device == "auto" else device, start)
    found = visible_gpus() if start > 1 else None
    if found is not None and gpus > found:
        raise ConfigError(
            f"--gpus {gpus}: there {'is' if found == 1 else 'are'} {counted(found, 'GPU')} here; ask for no more, look "
            "what nvidia-smi and CUDA_VISIBLE_DEVICES say, or train on the processor with --processes N"
        )
    return Asked("cuda", start)


def _to_start(option: str, count: int, member: Membership | None) -> int:
    if member is None:
        return count
    if count != member.local_ranks:
        started = f"{member.local_ranks} process" + ("es" if member.local_ranks > 1 else "")
        raise ConfigError(
            f"{option} {count}: {_STARTERS[member.launcher]} started {started} on this machine and decides how many "
            f"there are; leave {option} away"
        )
    return 1


def visible_gpus() -> int | None:
    """Return how many GPUs CUDA offers to this process and its children, None where the driver does not tell."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None if AMD.exists() else 0
    count = ctypes.c_int(0)
    status = driver.cuInit(0)
    if status == CUDA_ERROR_NO_DEVICE:
        return 0
    return None if status or driver.cuDeviceGetCount(ctypes.byref(count)) else count.value


def train_in_processes(arguments: list[str], processes: int, log: Log) -> None:
    """Run `nmtkit` with these arguments in so many processes, until all have ended.

    The first rank writes where this process does. Lines of others go to stderr, each behind its rank: they have
    something to say only where something is wrong. Raises AlreadySaid with the exit code of the first that did not
    end well (see `Launcher.run`).
    """
    if sys.platform != "linux":
        raise ConfigError("several processes: nmtkit starts them on Linux only; start them with torchrun")
    command = python("-m", "nmtkit", *arguments)
    environs = environments(processes, os.environ)
    threads, port = (environs[0][name] for name in ("OMP_NUM_THREADS", "MASTER_PORT"))
    log.detail(f"starting {processes} processes, with OMP_NUM_THREADS={threads}, which meet at port {port}")
    starts = [Start(command, environ, by_line=rank > 0) for rank, environ in enumerate(environs)]
    if code := Launcher(_say, log.warn).run(starts):
        raise AlreadySaid(f"a process ended with exit code {code}", code)


def _say(rank: int, line: bytes) -> None:
    if sys.stderr is not None:
        with contextlib.suppress(OSError):  # nobody reads it any more, which is no reason to end a training
            sys.stderr.buffer.write(b"rank %d: %s\n" % (rank, line))
            sys.stderr.buffer.flush()

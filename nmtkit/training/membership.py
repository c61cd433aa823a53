"""Membership: which of the processes of a training this one is, as torchrun, SLURM or nmtkit's own launcher say."""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from nmtkit.errors import ConfigError
from nmtkit.log import counted

PORTS = range(20_000, 32_000)
"""Where processes meet unless MASTER_PORT says otherwise: below the ports that Linux gives to whoever asks for any."""

LAUNCHED = "NMTKIT_LAUNCHED"
"""The variable by which processes know that `nmtkit train` started them."""

COUNTED = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
"""The variables of torchrun that make a process a member; the place to meet alone does not."""

SPECIAL_STEPS = 0xFFFF_FFF0
"""From here on SLURM's numbers of steps mean the batch script, an interactive shell and the like (slurm.h)."""

_BY_HAND = (
    "let torchrun, srun or nmtkit train --gpus N set these variables, or unset RANK, WORLD_SIZE, LOCAL_RANK and "
    "LOCAL_WORLD_SIZE to train in one process"
)
_BY_SRUN = "start the step again with srun, which sets these variables, or start with torchrun"

Environ = Mapping[str, str]


class Membership(NamedTuple):
    """The place of a process among those of a training; ranks are counted from 0, over all machines and on this one."""

    rank: int
    ranks: int
    local_rank: int
    local_ranks: int
    address: str
    port: int
    launcher: Literal["nmtkit", "torchrun", "slurm"]


def membership(environ: Environ) -> Membership | None:
    """Return the place that the environment gives to this process, or None where it trains alone.

    The variables of torchrun come first, as torchrun may itself have been started by SLURM; then those of an `srun`
    step. Inside `sbatch` or `salloc`, but outside of a step, a process is alone, as it is where there is but one.
    Raises ConfigError where variables are missing or contradict each other.
    """
    tasks = _tasks_of_step(environ)
    if environ.get("RANK") or (tasks <= 1 and any(environ.get(name) for name in COUNTED)):
        return _by_torchrun(environ)
    return _by_slurm(environ, tasks) if tasks > 1 else None


def _by_torchrun(environ: Environ) -> Membership | None:
    """Read what torchrun sets: https://docs.pytorch.org/docs/stable/elastic/run.html."""
    given = next(f"{name}={environ[name]}" for name in COUNTED if environ.get(name))
    if environ.get("WORLD_SIZE") == "1" and environ.get("RANK", "0") in ("", "0"):
        return None
    for name in (*COUNTED, "MASTER_ADDR", "MASTER_PORT"):
        if not environ.get(name):
            raise ConfigError(f"{given} is set, but {name} is not; {_BY_HAND}")
    ranks = _number(environ, "WORLD_SIZE", _BY_HAND, least=1)
    local_ranks = _number(environ, "LOCAL_WORLD_SIZE", _BY_HAND, least=1)
    if local_ranks > ranks:
        raise ConfigError(
            f"LOCAL_WORLD_SIZE={local_ranks}: more processes on this machine than the {ranks} of WORLD_SIZE; {_BY_HAND}"
        )
    rank = _place(environ, "RANK", _BY_HAND, below=ranks, by=f"WORLD_SIZE={ranks}")
    local_rank = _place(environ, "LOCAL_RANK", _BY_HAND, below=local_ranks, by=f"LOCAL_WORLD_SIZE={local_ranks}")
    launcher: Literal["nmtkit", "torchrun"] = "nmtkit" if environ.get(LAUNCHED) else "torchrun"
    return Membership(rank, ranks, local_rank, local_ranks, environ["MASTER_ADDR"], _port(environ), launcher)


def _tasks_of_step(environ: Environ) -> int:
    """Return of how many tasks the `srun` step is that this process belongs to; 0 outside of a step.

    The output variables of https://slurm.schedmd.com/srun.html. A batch script and the shell of `salloc` have the
    number of tasks of their job, but no step with as many.
    """
    if environ.get("SLURM_STEP_NUM_TASKS"):
        return _number(environ, "SLURM_STEP_NUM_TASKS", _BY_SRUN)
    step = environ.get("SLURM_STEP_ID") or environ.get("SLURM_STEPID") or ""
    if _digits(step) and int(step) < SPECIAL_STEPS:
        for name in ("SLURM_NTASKS", "SLURM_NPROCS"):
            if environ.get(name):
                return _number(environ, name, _BY_SRUN)
    return 0


def _by_slurm(environ: Environ, ranks: int) -> Membership:
    size = environ.get("WORLD_SIZE")
    if size and size != str(ranks):
        raise ConfigError(
            f"WORLD_SIZE={size}: the srun step has {ranks} tasks; unset WORLD_SIZE, or give as many with --ntasks"
        )
    rank = _place(environ, "SLURM_PROCID", _BY_SRUN, below=ranks, by=f"a step of {ranks} tasks")
    local_ranks = _tasks_here(environ, ranks)
    by = f"a node with {counted(local_ranks, 'task')}"
    local_rank = _place(environ, "SLURM_LOCALID", _BY_SRUN, below=local_ranks, by=by)
    address = environ.get("MASTER_ADDR") or ("127.0.0.1" if local_ranks == ranks else _first_node_of(environ))
    return Membership(rank, ranks, local_rank, local_ranks, address, _port(environ), "slurm")


def _tasks_here(environ: Environ, ranks: int) -> int:
    """Return how many tasks of the step run on this node.

    From such as "8(x2),4": eight on each of the first two nodes, four on the third.
    """
    names = ("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE")
    name = next((name for name in names if environ.get(name)), names[0])
    text = _required(environ, name, _BY_SRUN)
    node = _number(environ, "SLURM_NODEID", _BY_SRUN)
    here = nodes = total = 0
    for piece in text.split(","):
        found = re.fullmatch(r"([0-9]{1,9})(?:\(x([0-9]{1,9})\))?", piece)
        if found is None:
            raise ConfigError(f"{name}={text}: not of the form 8(x2),4; {_BY_SRUN}")
        tasks, times = int(found[1]), int(found[2] or 1)
        if nodes <= node < nodes + times:
            here = tasks
        nodes, total = nodes + times, total + tasks * times
    if total != ranks:
        raise ConfigError(f"{name}={text}: makes {total} tasks, but the step has {ranks}; {_BY_SRUN}")
    _place(environ, "SLURM_NODEID", _BY_SRUN, below=nodes, by=f"{name}={text}")
    return here


def _first_node_of(environ: Environ) -> str:
    """Return the node of rank 0."""
    names = ("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST")
    name = next((name for name in names if environ.get(name)), names[0])
    text = _required(environ, name, f"{_BY_SRUN}; or set MASTER_ADDR to the name of the first node")
    node = first_node(text)
    if node is None:
        raise ConfigError(f"{name}={text}: not a list such as node[003-007,9]; set MASTER_ADDR to the first node")
    return node


def first_node(nodes: str) -> str | None:
    """Return the first node of a list in SLURM's notation, None where it is none: node[003-007,9]-ib is node003-ib."""
    found = re.match(r"(?:[^][,]|\[[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*\])+(?=,|$)", nodes)
    if found is None:
        return None
    return re.sub(r"\[([0-9]+)[^]]*\]", r"\1", found[0])


def _port(environ: Environ) -> int:
    """Return MASTER_PORT; without it one of PORTS by the number of job and step, so that all tasks find the same.

    Jobs that follow each other, whose steps may share a node, are 31 ports apart.
    """
    if not environ.get("MASTER_PORT"):
        remedy = f"{_BY_SRUN}; or set MASTER_PORT to a free port of the first node"
        job = _number(environ, "SLURM_JOB_ID" if environ.get("SLURM_JOB_ID") else "SLURM_JOBID", remedy)
        step = environ.get("SLURM_STEP_ID") or environ.get("SLURM_STEPID") or "0"
        return PORTS[(31 * job + (int(step) if _digits(step) else 0)) % len(PORTS)]
    port = _number(environ, "MASTER_PORT", "give a port of the first machine that is free", least=1)
    if port > 65_535:
        raise ConfigError(f"MASTER_PORT={port}: ports end at 65535; give one that is free on the first machine")
    return port


def _number(environ: Environ, name: str, remedy: str, *, least: int = 0) -> int:
    text = _required(environ, name, remedy)
    if not _digits(text) or int(text) < least:
        raise ConfigError(f"{name}={text}: not a whole number from {least} on; {remedy}")
    return int(text)


def _required(environ: Environ, name: str, remedy: str) -> str:
    text = environ.get(name)
    if not text:
        raise ConfigError(f"{name} is not set, though this is one of several processes; {remedy}")
    return text


def _place(environ: Environ, name: str, remedy: str, *, below: int, by: str) -> int:
    """Return a number that counts from 0; `by` says what limits it."""
    number = _number(environ, name, remedy)
    if number >= below:
        raise ConfigError(f"{name}={number}: {by} allows 0 to {below - 1} at most; {remedy}")
    return number


def _digits(text: str) -> bool:
    return re.fullmatch("[0-9]{1,10}", text) is not None

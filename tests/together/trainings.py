"""Trainings in several processes, and what they are compared by."""

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from toy.projects import Project

SETTINGS = (
    "train.batch={tokens_per_update=400, tokens_per_tensor=150}",
    "train.precision=fp32",
    "train.log_every=1",
    "train.validation={every=25}",
    "train.checkpoints={every=20, keep_last=2, average=2}",
)
"""Two to four tensors an update."""
PARALLEL = {"replicate": "train.parallel=replicate", "shard": "train.parallel=shard"}


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    said: str


def train(project: Project, processes: int, *settings: str, seconds: float = 240) -> Ended:
    """Run `nmtkit train` on the CPU in so many processes, each with one thread."""
    options = [word for setting in (*SETTINGS, *settings) for word in ("--set", setting)]
    command = [sys.executable, "-m", "nmtkit", "train", "--config", str(project.file), "--device", "cpu", *options]
    if processes > 1:
        command += ["--processes", str(processes)]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=seconds,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return Ended(done.returncode, done.stdout.decode())


def trained(project: Project, processes: int, *settings: str) -> Project:
    """Train a project and see that it ends well."""
    ended = train(project, processes, *settings)
    assert ended.code == 0, ended.said
    assert "Traceback" not in ended.said
    return project


def losses(project: Project) -> list[float]:
    """Return the loss of each update."""
    return [record["loss"] for record in project.records("train")]


def counts(project: Project) -> list[dict[str, Any]]:
    """Return what each update was made of: where it stands, and how many pairs there were before."""
    names = ("update", "epoch", "pairs", "learning_rate", "skipped")
    return [{name: record[name] for name in names} for record in project.records("train")]


def close(one: Sequence[float], other: Sequence[float], relative: float = 1e-5) -> bool:
    """Tell whether numbers are equal to a relative tolerance."""
    return all(abs(a - b) <= relative * abs(b) for a, b in zip(one, other, strict=True))

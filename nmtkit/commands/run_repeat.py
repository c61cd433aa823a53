"""The commands that repeat a run, out of its card."""

import shlex
from collections.abc import Mapping
from typing import Any

from nmtkit.training.machine import PACKAGES

AGAIN = "--config config.toml --run ../again"


def repeating(content: Mapping[str, Any]) -> list[str]:
    """Return the lines of a shell that train the same run again and compare both."""
    software, machine = content["software"], content["sessions"][0]["machine"]
    pinned = [f"{name}=={software[name].partition('+')[0]}" for name in PACKAGES if software.get(name)]
    vocabulary = _vocabulary(content["config"]["prepare"].get("segmenter", {}))
    lines = []
    if software["commit"]:
        changed = ", then the changes made since" if software["changed"] else ""
        lines.append(f"git checkout {software['commit']}  # in the repository of nmtkit{changed}")
    else:
        lines.append(f"pip install nmtkit=={software['nmtkit']}")
    return [
        *lines,
        f"pip install {' '.join(pinned)}",
        "# in the run folder, whose config.toml has all settings and the folder of the corpus files:",
        f"nmtkit prepare {AGAIN}{vocabulary}",
        *_training(machine, f"train {AGAIN}{vocabulary}"),
        *([f"nmtkit score {AGAIN}"] if content["tests"] else []),
        "nmtkit inspect . ../again  # what differs",
    ]


def _vocabulary(segmenter: Mapping[str, Any]) -> str:
    """Return options that give a vocabulary, where it was given: its name starts from where nmtkit.toml was."""
    if segmenter.get("kind") != "file":
        return ""
    target = " --set prepare.segmenter.target_path=data/target.model" if segmenter.get("target_path") else ""
    return f" --set prepare.segmenter.path=data/source.model{target}"


def _training(machine: Mapping[str, Any], options: str) -> list[str]:
    """Return how training is called, in as many processes on as many hosts."""
    processes, hosts = machine["processes"], len(machine["hosts"])
    on_cpu = machine["device"] == "cpu"
    threads = f"OMP_NUM_THREADS={machine['threads']} " if on_cpu else ""
    if hosts > 1:
        first = shlex.quote(f"{machine['hosts'][0]}:29500")
        device = " --device cpu" if on_cpu else ""
        return [
            f"# on each of {hosts} hosts:",
            f"{threads}torchrun --nnodes {hosts} --nproc-per-node {processes // hosts} --rdzv-backend c10d "
            f"--rdzv-endpoint {first} -m nmtkit {options}{device}",
        ]
    where = f"--device {machine['device']}"
    if processes > 1:
        where = f"--processes {processes}" if on_cpu else f"--gpus {processes}"
    return [f"{threads}nmtkit {options} {where}"]

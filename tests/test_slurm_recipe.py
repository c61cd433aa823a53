"""The script for SLURM, with stand-ins for the programs of SLURM and for nmtkit. On a cluster people have to try it."""

import os
import re
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "recipes" / "slurm" / "train.sbatch"

SRUN = """#!/bin/sh
echo srun "$@" >> "$CALLS"
while [ "$1" != nmtkit ]; do shift; done
"$@"
"""
SCONTROL = """#!/bin/sh
echo scontrol "$@" >> "$CALLS"
"""
NMTKIT = """#!/bin/sh
echo nmtkit "$@" >> "$CALLS"
[ "$1" = train ] && exit "$CODE"
exit "${PREPARED:-0}"
"""


@pytest.fixture
def run(tmp_path):
    """Run the script in a job, where nmtkit ends with a code; return its exit code and what it called."""
    programs, calls = tmp_path / "bin", tmp_path / "calls"
    programs.mkdir()
    for name, text in (("srun", SRUN), ("scontrol", SCONTROL), ("nmtkit", NMTKIT)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)

    def start(code, *arguments, **variables):
        job = {"SLURM_JOB_ID": "4711", "SLURM_CPUS_PER_TASK": "8", "CALLS": str(calls), "CODE": str(code)}
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", SCRIPT, *arguments], env={**os.environ, "PATH": path, **job, **variables}, check=False
        )
        return done.returncode, calls.read_text().removesuffix("\n").split("\n")

    return start


@pytest.mark.parametrize("code", [0, 1, 2, 70, 130])
def test_an_end_is_an_end(run, code):
    ended, calls = run(code, "--config", "my file.toml", "--set", "train.seed=3")
    assert ended == code
    assert calls == [
        "nmtkit prepare --config my file.toml --set train.seed=3",
        "srun --cpus-per-task=8 --kill-on-bad-exit=0 --wait=0 nmtkit train --config my file.toml --set train.seed=3",
        "nmtkit train --config my file.toml --set train.seed=3",
    ]


@pytest.mark.parametrize("code", [138, 143])
def test_a_training_that_was_stopped_goes_back_into_the_queue(run, code):
    ended, calls = run(code)
    assert ended == code
    assert calls[-1] == "scontrol requeue 4711"


def test_without_data_nothing_is_trained(run):
    ended, calls = run(0, PREPARED="1")
    assert (ended, calls) == (1, ["nmtkit prepare"])


def test_options_of_sbatch_stand_before_the_first_command():
    """As sbatch reads no others."""
    lines = SCRIPT.read_text(encoding="utf-8").split("\n")
    options = [number for number, line in enumerate(lines) if line.startswith("#SBATCH ")]
    commands = [number for number, line in enumerate(lines) if line and not line.startswith("#")]
    assert options
    assert max(options) < min(commands)


def test_each_task_has_a_gpu():
    found = dict(re.findall(r"^#SBATCH --([a-z-]+)=(\S+)$", SCRIPT.read_text(encoding="utf-8"), re.M))
    assert found["ntasks-per-node"] == found["gpus-per-node"] == "8"
    assert found["nodes"] == "2"
    assert found["signal"] == "USR1@120"

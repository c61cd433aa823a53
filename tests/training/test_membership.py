"""Which of several processes this one is: every starter's variables, and every way in which they can be wrong."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.commands.launched import environments
from nmtkit.errors import ConfigError
from nmtkit.training.membership import PORTS, Membership, first_node, membership

TORCHRUN = {
    "RANK": "9",
    "WORLD_SIZE": "16",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "8",
    "MASTER_ADDR": "gpu01",
    "MASTER_PORT": "29500",
}
JOB = {
    "SLURM_JOB_ID": "4711",
    "SLURM_JOB_NODELIST": "gpu[01-03]",
    "SLURM_NTASKS": "20",
    "SLURM_TASKS_PER_NODE": "8(x2),4",
    "SLURM_PROCID": "0",
    "SLURM_LOCALID": "0",
    "SLURM_NODEID": "0",
}
"""What a batch script sees."""
STEP = {
    **JOB,
    "SLURM_STEP_ID": "2",
    "SLURM_STEP_NUM_TASKS": "20",
    "SLURM_STEP_NODELIST": "gpu[01-03]",
    "SLURM_STEP_TASKS_PER_NODE": "8(x2),4",
    "SLURM_PROCID": "17",
    "SLURM_LOCALID": "1",
    "SLURM_NODEID": "2",
}
"""What the second task on the third node of an srun step sees."""


def without(environ, *names):
    return {name: value for name, value in environ.items() if name not in names}


# Alone


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"MASTER_ADDR": "gpu01", "MASTER_PORT": "29500"},
        {"WORLD_SIZE": "1"},
        {**TORCHRUN, "WORLD_SIZE": "1", "RANK": "0"},
        {"RANK": "", "WORLD_SIZE": "", "SLURM_STEP_NUM_TASKS": ""},
        JOB,
        {**JOB, "SLURM_STEP_ID": str(0xFFFFFFFB)},
        {**STEP, "SLURM_STEP_NUM_TASKS": "1", "SLURM_STEP_ID": str(0xFFFFFFFA)},
        {**JOB, "SLURM_STEP_ID": "0", "SLURM_NTASKS": "1"},
    ],
    ids=["nothing", "a place to meet only", "one", "torchrun of one", "empty", "sbatch", "sbatch with a step number",
         "the shell of salloc", "srun of one"],
)  # fmt: skip
def test_a_process_alone(environ):
    assert membership(environ) is None


# One of several


def test_torchrun():
    assert membership(TORCHRUN) == Membership(9, 16, 1, 8, "gpu01", 29500, "torchrun")


def test_the_own_launcher_says_the_same_as_torchrun():
    found = [membership(environ) for environ in environments(3, {"HOME": "x"})]
    port = found[0].port
    assert found == [Membership(rank, 3, rank, 3, "127.0.0.1", port, "nmtkit") for rank in range(3)]
    assert port in PORTS


def test_slurm():
    port = 20_000 + (31 * 4711 + 2) % 12_000
    assert membership(STEP) == Membership(17, 20, 1, 4, "gpu01", port, "slurm")


def test_slurm_as_older_releases_have_it():
    old = without(STEP, *(name for name in STEP if name.startswith("SLURM_STEP")), "SLURM_JOB_ID", "SLURM_JOB_NODELIST")
    old |= {"SLURM_STEPID": "2", "SLURM_JOBID": "4711", "SLURM_NODELIST": "gpu[01-03]"}
    assert membership(old) == membership(STEP)
    assert membership({**without(old, "SLURM_NTASKS"), "SLURM_NPROCS": "20"}) == membership(STEP)


def test_slurm_with_a_place_to_meet():
    found = membership({**STEP, "MASTER_ADDR": "10.0.0.7", "MASTER_PORT": "29500"})
    assert (found.address, found.port) == ("10.0.0.7", 29500)


def test_slurm_on_one_node_meets_there():
    one = {**STEP, "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_TASKS_PER_NODE": "2", "SLURM_PROCID": "1"}
    one |= {"SLURM_NODEID": "0", "WORLD_SIZE": "2"}
    assert membership(one)[:5] == (1, 2, 1, 2, "127.0.0.1")


def test_torchrun_inside_of_slurm():
    assert membership({**STEP, **TORCHRUN}) == membership(TORCHRUN)


@given(st.integers(0, 2**32 - 1), st.integers(0, 1000))
def test_ports_of_jobs_and_steps(job, step):
    """They lie in the range, and jobs near each other do not meet."""

    def port(job, step):
        return membership({**STEP, "SLURM_JOB_ID": str(job), "SLURM_STEP_ID": str(step)}).port

    assert port(job, step) in PORTS
    later = {port(job + number, 0) for number in range(20)}
    assert len({port(job, 30), *later}) == 21


@pytest.mark.parametrize("rank", range(20))
def test_each_task_of_a_step(rank):
    node, local = divmod(rank, 8)
    task = {**STEP, "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(local), "SLURM_NODEID": str(node)}
    assert membership(task)[:5] == (rank, 20, local, 4 if node == 2 else 8, "gpu01")


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("gpu01", "gpu01"),
        ("gpu01,gpu02", "gpu01"),
        ("node[003-007,9]-ib", "node003-ib"),
        ("node[9,003-007]", "node9"),
        ("a[1-2],b[3-4]", "a1"),
        ("a,b[3-4]", "a"),
        ("rack[0-1]node[02-3].x", "rack0node02.x"),
        ("node[3", None),
        ("node3]", None),
        ("node[a-b]", None),
        ("node[]", None),
        (",node", None),
        ("", None),
    ],
)
def test_the_first_node_of_a_list(nodes, first):
    assert first_node(nodes) == first


# Mistakes


@pytest.mark.parametrize("missing", [name for name in TORCHRUN if name != "RANK"])
def test_half_of_the_variables_of_torchrun(missing):
    with pytest.raises(ConfigError, match=f"^RANK=9 is set, but {missing} is not; let torchrun") as caught:
        membership(without(TORCHRUN, missing))
    assert caught.value.exit_code == 2


def test_a_size_without_a_rank():
    with pytest.raises(ConfigError, match=r"^WORLD_SIZE=4 is set, but RANK is not; .* unset RANK, WORLD_SIZE, "):
        membership({"WORLD_SIZE": "4"})
    with pytest.raises(ConfigError, match=r"^LOCAL_RANK=0 is set, but RANK is not"):
        membership({"LOCAL_RANK": "0"})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"RANK": "16"}, "RANK=16: WORLD_SIZE=16 allows 0 to 15 at most; let torchrun"),
        ({"RANK": "-1"}, "RANK=-1: not a whole number from 0 on; let torchrun"),
        ({"RANK": "one"}, "RANK=one: not a whole number from 0 on; let torchrun"),
        ({"WORLD_SIZE": "0"}, "WORLD_SIZE=0: not a whole number from 1 on; let torchrun"),
        ({"WORLD_SIZE": "1"}, "LOCAL_WORLD_SIZE=8: more processes on this machine than the 1 of WORLD_SIZE; let torch"),
        ({"LOCAL_RANK": "8"}, "LOCAL_RANK=8: LOCAL_WORLD_SIZE=8 allows 0 to 7 at most; let torchrun"),
        ({"LOCAL_WORLD_SIZE": "17"}, "LOCAL_WORLD_SIZE=17: more processes on this machine than the 16 of WORLD_SIZE"),
        ({"MASTER_PORT": "65536"}, "MASTER_PORT=65536: ports end at 65535; give one that is free on the first machine"),
        ({"MASTER_PORT": "http"}, "MASTER_PORT=http: not a whole number from 1 on; give a port of the first machine"),
    ],
)
def test_variables_of_torchrun_that_contradict_each_other(changed, message):
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
        membership({**TORCHRUN, **changed})


@pytest.mark.parametrize(
    "missing", ["SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_JOB_ID", "SLURM_STEP_NODELIST"]
)
def test_half_of_the_variables_of_slurm(missing):
    others = {"SLURM_STEP_NODELIST": ("SLURM_JOB_NODELIST",), "SLURM_JOB_ID": ("SLURM_JOBID",)}.get(missing, ())
    named = {"SLURM_JOB_ID": "SLURM_JOBID"}.get(missing, missing)
    with pytest.raises(ConfigError, match=f"^{named} is not set, though this is one of several .* srun"):
        membership(without(STEP, missing, *others))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"SLURM_PROCID": "20"}, "SLURM_PROCID=20: a step of 20 tasks allows 0 to 19 at most; start the step again"),
        ({"SLURM_LOCALID": "4"}, "SLURM_LOCALID=4: a node with 4 tasks allows 0 to 3 at most; start the step again"),
        ({"SLURM_NODEID": "3"}, "SLURM_NODEID=3: SLURM_STEP_TASKS_PER_NODE=8(x2),4 allows 0 to 2 at most; start"),
        (
            {"SLURM_STEP_TASKS_PER_NODE": "8(x2)"},
            "SLURM_STEP_TASKS_PER_NODE=8(x2): makes 16 tasks, but the step has 20",
        ),
        ({"SLURM_STEP_TASKS_PER_NODE": "8x2"}, "SLURM_STEP_TASKS_PER_NODE=8x2: not of the form 8(x2),4; start"),
        ({"SLURM_STEP_NUM_TASKS": "many"}, "SLURM_STEP_NUM_TASKS=many: not a whole number from 0 on; start the step"),
        (
            {"SLURM_STEP_NODELIST": "gpu[01"},
            "SLURM_STEP_NODELIST=gpu[01: not a list such as node[003-007,9]; set MASTER",
        ),
        (
            {"WORLD_SIZE": "8"},
            "WORLD_SIZE=8: the srun step has 20 tasks; unset WORLD_SIZE, or give as many with --ntasks",
        ),
    ],
)
def test_variables_of_slurm_that_contradict_each_other(changed, message):
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
        membership({**STEP, **changed})


@given(st.dictionaries(st.sampled_from(sorted({*TORCHRUN, *STEP})), st.text(max_size=6)), st.booleans())
def test_whatever_the_variables_hold(changed, step):
    """A membership that makes sense, none, or a message of one line that names a variable."""
    try:
        found = membership({**(STEP if step else TORCHRUN), **changed})
    except ConfigError as error:
        found, message = None, str(error)
    else:
        message = "RANK="
    assert re.match(r"[A-Z_]+( is not set|=)", message)
    if found is not None:
        assert 0 <= found.rank < found.ranks
        assert 0 <= found.local_rank < found.local_ranks <= found.ranks
        assert 1 <= found.port <= 65_535
        assert found.address


# The real torchrun

SHOW = """
import os, pathlib, sys
from nmtkit.training.membership import membership
found = membership(os.environ)
pathlib.Path(sys.argv[1], str(found.rank)).write_text(repr(tuple(found)))
"""


@pytest.mark.slow
def test_torchrun_on_two_hosts(tmp_path: Path) -> None:
    """Two launchers on this machine, as on two; each process knows its place."""
    (tmp_path / "show.py").write_text(SHOW)
    port = str(membership(environments(2, {})[0]).port)
    common = ["--nnodes", "2", "--nproc-per-node", "2", "--master-addr", "127.0.0.1", "--master-port", port]
    launchers = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "torch.distributed.run",
                *common,
                "--node-rank",
                host,
                str(tmp_path / "show.py"),
                tmp_path,
            ],
            stderr=subprocess.PIPE,
        )
        for host in "01"
    ]
    for launcher in launchers:
        _, said = launcher.communicate(timeout=120)
        assert launcher.returncode == 0, said.decode()
    for rank in range(4):
        expected = (rank, 4, rank % 2, 2, "127.0.0.1", int(port), "torchrun")
        assert (tmp_path / str(rank)).read_text() == repr(expected)

"""`nmtkit train --gpus N` and `--processes N`: what the options mean, and what becomes of the processes."""

import ctypes
import importlib
import os
import re
import secrets
import signal
import subprocess
import sys

import pytest
from kills.processes import MARK, marked
from toy.projects import Project

from nmtkit.cli import app
from nmtkit.commands import train_processes
from nmtkit.commands.train_processes import Asked, asked, train_in_processes, visible_gpus
from nmtkit.errors import AlreadySaid, ConfigError
from nmtkit.log import Log
from nmtkit.training.membership import Membership

OF_TWO = Membership(3, 4, 1, 2, "gpu01", 29500, "torchrun")


@pytest.fixture(autouse=True)
def four_gpus(monkeypatch):
    monkeypatch.setattr(train_processes, "visible_gpus", lambda: 4)


# What is asked for


@pytest.mark.parametrize(
    ("gpus", "processes", "device", "member", "expected"),
    [
        (None, None, "auto", None, Asked("auto", 1)),
        (None, None, "cuda:1", None, Asked("cuda:1", 1)),
        (None, None, "auto", OF_TWO, Asked("auto", 1)),
        (4, None, "auto", None, Asked("cuda", 4)),
        (2, None, "cuda", None, Asked("cuda", 2)),
        (1, None, "auto", None, Asked("cuda", 1)),
        (1, None, "cuda:3", None, Asked("cuda:3", 1)),
        (2, None, "auto", OF_TWO, Asked("cuda", 1)),
        (None, 3, "auto", None, Asked("cpu", 3)),
        (None, 3, "cpu", None, Asked("cpu", 3)),
        (None, 1, "auto", None, Asked("cpu", 1)),
        (None, 2, "cpu", OF_TWO, Asked("cpu", 1)),
    ],
)
def test_what_the_options_say_together(gpus, processes, device, member, expected):
    assert asked(gpus, processes, device, member) == expected


@pytest.mark.parametrize(
    ("gpus", "processes", "device", "member", "message"),
    [
        (2, 2, "auto", None, "--gpus and --processes: the one asks for GPUs, the other for the processor; give one"),
        (2, None, "cpu", None, "--gpus 2: --device cpu computes on none; give --processes 2, or another --device"),
        (1, None, "cpu", None, "--gpus 1: --device cpu computes on none; give --processes 1, or another --device"),
        (2, None, "cuda:1", None, "--gpus 2: takes the first 2 GPUs, not --device cuda:1; leave --device away"),
        (5, None, "auto", None, "--gpus 5: there are 4 GPUs here; ask for no more, look what nvidia-smi and CUDA_VIS"),
        (None, 2, "cuda", None, "--processes 2: asks for the processor, --device cuda does not; give --gpus N for"),
        (4, None, "auto", OF_TWO, "--gpus 4: torchrun (--nproc-per-node) started 2 processes on this machine and dec"),
        (None, None, "cuda:1", OF_TWO, "--device cuda:1: torchrun (--nproc-per-node) started 2 processes on this mach"),
        (None, 1, "cpu", OF_TWO, "--processes 1: torchrun (--nproc-per-node) started 2 processes on this machine"),
        (
            8,
            None,
            "auto",
            OF_TWO._replace(local_rank=0, local_ranks=1, launcher="slurm"),
            "--gpus 8: srun (--ntasks-per-node) started 1 process on this machine and decides how many there are; lea",
        ),
    ],
)
def test_options_that_contradict_each_other(gpus, processes, device, member, message):
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}") as caught:
        asked(gpus, processes, device, member)
    assert "\n" not in str(caught.value)


def test_as_many_gpus_as_the_driver_does_not_tell(monkeypatch):
    """Each process finds out by itself."""
    monkeypatch.setattr(train_processes, "visible_gpus", lambda: None)
    assert asked(8, None, "auto", None) == Asked("cuda", 8)


class Driver:
    """What libcuda.so.1 answers."""

    def __init__(self, status: int, count: int = 0, counting: int = 0) -> None:
        self._status, self._count, self._counting = status, count, counting

    def cuInit(self, flags):  # noqa: N802
        assert flags == 0
        return self._status

    def cuDeviceGetCount(self, place):  # noqa: N802
        ctypes.cast(place, ctypes.POINTER(ctypes.c_int))[0] = self._count
        return self._counting


@pytest.mark.parametrize(
    ("driver", "count"),
    [(Driver(0, 3), 3), (Driver(0, 0), 0), (Driver(100), 0), (Driver(999), None), (Driver(0, 3, 1), None)],
)
def test_gpus_are_counted_by_the_driver(monkeypatch, driver, count):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    assert visible_gpus() == count


@pytest.mark.parametrize(("of_amd", "count"), [(True, None), (False, 0)])
def test_gpus_without_a_driver_of_cuda(monkeypatch, tmp_path, of_amd, count):
    def fail(name):
        raise OSError(f"{name}: cannot open shared object file")

    kfd = tmp_path / "kfd"
    if of_amd:
        kfd.touch()
    monkeypatch.setattr(ctypes, "CDLL", fail)
    monkeypatch.setattr(train_processes, "AMD", kfd)
    assert visible_gpus() == count


# What the processes do


@pytest.fixture
def instead(monkeypatch):
    """Run a shell script in each process, with the arguments that nmtkit would get; its mark is returned."""

    def use(script):
        mark = secrets.token_hex(8)
        monkeypatch.setenv(MARK, mark)
        monkeypatch.setattr(train_processes, "python", lambda *arguments: ["sh", "-c", script, *arguments[1:]])
        return mark

    return use


def test_the_first_rank_talks_and_others_only_behind_their_rank(instead, capfd):
    instead("echo result $RANK; echo talk $RANK >&2")
    train_in_processes(["train"], 2, Log())
    said = capfd.readouterr()
    assert said.out == "result 0\n"
    assert sorted(said.err.removesuffix("\n").split("\n")) == ["rank 1: result 1", "rank 1: talk 1", "talk 0"]


def test_arguments_reach_all(instead, capfd):
    instead('echo "$0 $*" >&2')
    train_in_processes(["train", "--set", "a b=c", "--processes", "2"], 2, Log("quiet"))
    assert capfd.readouterr().err.count("nmtkit train --set a b=c --processes 2\n") == 2


def test_a_failure_is_said_and_its_code_returned(instead, capfd, tmp_path):
    class Marking(Log):
        def warn(self, message):
            super().warn(message)
            (tmp_path / "told").touch()

    told = f"until [ -e {tmp_path}/told ]; do sleep 0.01; done"
    mark = instead(f"[ $RANK = 1 ] && kill -9 $$; {told}; echo rank 1 is lost >&2; exit 1")
    with pytest.raises(AlreadySaid) as caught:
        train_in_processes(["train"], 2, Marking("quiet"))
    assert caught.value.exit_code == 1
    told, lost, ended = capfd.readouterr().err.removesuffix("\n").split("\n")
    assert told.startswith("warning: rank 1 was ended by SIGKILL, maybe by the kernel for want of memory: see its log")
    assert told.endswith("; the others have 10 s to end by themselves")
    assert (lost, ended) == ("rank 1 is lost", "warning: rank 0 ended with exit code 1")
    assert not marked(mark)


def test_a_closed_stderr_is_no_reason_to_end(instead, monkeypatch):
    instead("[ $RANK = 0 ] || echo talk")
    monkeypatch.setattr(sys, "stderr", None)
    train_in_processes(["train"], 2, Log("silent"))


def test_another_system_is_told_of_torchrun(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(ConfigError, match=r"^several processes: nmtkit starts them on Linux only; .* torchrun$"):
        train_in_processes(["train"], 2, Log("quiet"))


# The command line


@pytest.fixture
def nmt(tmp_path, monkeypatch, capfd):
    """Run a command line in this process, without its work; return exit code, stderr and what would have been done."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nmtkit.toml").write_text('[languages]\nsource = "en"\ntarget = "de"\n')
    calls = []
    for module, name in (
        ("train", "train"),
        ("train_processes", "train_in_processes"),
        ("train_profile", "profile"),
    ):
        place = importlib.import_module(f"nmtkit.commands.{module}")
        monkeypatch.setattr(place, name, lambda *args, name=name, **kwargs: calls.append((name, args, kwargs)))

    def run(*arguments):
        calls.clear()
        monkeypatch.setattr(sys, "argv", ["nmtkit", *arguments])
        with pytest.raises(SystemExit) as end:
            app(list(arguments), prog_name="nmtkit")
        return end.value.code, capfd.readouterr().err, list(calls)

    return run


@pytest.mark.parametrize(
    ("options", "count"), [(["--gpus", "3"], 3), (["--processes=2", "--device", "cpu"], 2), (["--processes", "2"], 2)]
)
def test_several_processes_are_started_with_the_same_arguments(nmt, options, count):
    code, _, ((name, arguments, _),) = nmt("train", *options, "-q")
    assert (code, name, arguments[:2]) == (0, "train_in_processes", (["train", *options, "-q"], count))
    assert arguments[2].verbosity == "quiet"


@pytest.mark.parametrize(
    ("options", "device"), [(["--gpus", "1"], "cuda"), (["--processes", "1"], "cpu"), ([], "auto")]
)
def test_one_process_is_this_one(nmt, options, device):
    code, _, ((name, _, options),) = nmt("train", *options)
    assert (code, name) == (0, "train")
    assert options == {"device": device, "membership": None}


def test_one_of_several_trains_as_such(nmt, monkeypatch):
    for name, value in zip(
        ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"),
        ("3", "4", "1", "2", "gpu01", "29500"),
        strict=True,
    ):
        monkeypatch.setenv(name, value)
    for arguments, device in (([], "auto"), (["--processes", "2"], "cpu"), (["--gpus", "2"], "cuda")):
        code, _, ((name, _, options),) = nmt("train", *arguments)
        assert (code, name, options) == (0, "train", {"device": device, "membership": OF_TWO})
    code, said, done = nmt("train", "--gpus", "4")
    assert (code, done) == (2, [])
    assert said.startswith("nmtkit: error: --gpus 4: torchrun (--nproc-per-node) started 2 processes")
    code, said, done = nmt("train", "--profile", "2")
    assert (code, done) == (2, [])
    assert (
        said
        == "nmtkit: error: --profile: looks into one process; start one, without --gpus, --processes and torchrun\n"
    )


def test_profile_of_several_processes(nmt):
    code, said, done = nmt("train", "--profile", "2", "--processes", "2")
    assert (code, done) == (2, [])
    assert said.startswith("nmtkit: error: --profile: looks into one process; ")
    code, _, ((name, _, options),) = nmt("train", "--profile", "2", "--processes", "1")
    assert (code, name, options["device"]) == (0, "profile", "cpu")


def test_a_mistake_in_the_settings_starts_nothing(nmt):
    code, said, done = nmt("train", "--processes", "2", "--set", "train.sed=1")
    assert (code, done) == (2, [])
    assert "did you mean train.seed?" in said


@pytest.mark.parametrize("name", ["--gpus", "--processes"])
def test_no_process_at_all_is_a_mistake(nmt, name):
    code, said, done = nmt("train", name, "0")
    assert (code, done) == (2, [])
    assert f"Invalid value for '{name}'" in said


def test_variables_of_a_starter_that_are_wrong(nmt, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "4")
    code, said, done = nmt("train")
    assert (code, done) == (2, [])
    assert said.startswith("nmtkit: error: WORLD_SIZE=4 is set, but RANK is not; ")


def test_the_exit_code_is_that_of_the_process_that_failed(nmt, instead, monkeypatch):
    instead("exit $((40 + RANK * 0))")
    monkeypatch.setattr(train_processes, "train_in_processes", train_in_processes)
    code, said, _ = nmt("train", "--processes", "2")
    assert code == 40
    assert "nmtkit: error" not in said
    assert "ended with exit code 40" in said


# The real thing


def arguments_of(project: Project) -> list[str]:
    settings = ["train.stop.updates=4", "train.checkpoints.every=2", "train.validation.every=0"]
    place = ["--config", str(project.file), "--run", str(project.run.path)]
    return ["train", *place, "--device", "cpu", "--processes", "2", *(f"--set={setting}" for setting in settings)]


@pytest.mark.slow
def test_two_processes_train(fresh: Project) -> None:
    mark = secrets.token_hex(8)
    command = [sys.executable, "-m", "nmtkit", *arguments_of(fresh)]
    done = subprocess.run(command, env={**os.environ, MARK: mark}, capture_output=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (0, b""), done.stderr.decode()
    assert b"rank 1" not in done.stderr
    assert 4 in fresh.updates()
    assert not marked(mark)


@pytest.mark.slow
def test_ctrl_c_stops_two_processes_with_a_checkpoint(fresh: Project) -> None:
    mark = secrets.token_hex(8)
    endless = ("--set=train.stop.updates=100000", "--set=train.log_every=1")
    command = [sys.executable, "-m", "nmtkit", *arguments_of(fresh), *endless]
    with subprocess.Popen(
        command, env={**os.environ, MARK: mark}, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        said = b""
        while b"\nupdate 2" not in said and (line := process.stderr.readline()):
            said += line
        os.killpg(process.pid, signal.SIGINT)
        _, rest = process.communicate(timeout=120)
    assert process.returncode == 130, rest.decode()
    assert b"stopped by SIGINT behind update " in rest
    assert b"rank 1" not in rest
    assert not marked(mark)

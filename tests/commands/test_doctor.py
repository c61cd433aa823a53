import importlib
import json
import sys
from importlib import metadata
from types import SimpleNamespace

import pytest
import torch

from nmtkit import api, workers
from nmtkit.commands import doctor, doctor_checks, doctor_copying, doctor_link
from nmtkit.commands.doctor_checks import Finding
from nmtkit.errors import ConfigError, NmtkitError
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder
from nmtkit.training import machine

GOOD_COPY = Finding("copy task", "100.0% of 200 unseen sequences")
GOOD_LINK = Finding("gloo 1 MiB", "2.00 GB/s among 2 processes", figures={"gigabytes_per_second": 2.0})


@pytest.fixture
def quick(monkeypatch):
    """Leave out the copy task, which takes half a minute, and processes that would import torch."""
    monkeypatch.setattr(doctor_copying, "copy_task", lambda device: GOOD_COPY)
    monkeypatch.setattr(doctor_link, "links", lambda device: [GOOD_LINK])


# The report


def test_each_line_has_its_state_and_all_is_well_here(quick, tmp_path, capsys):
    doctor.doctor(RunFolder(tmp_path / "run"), Log("quiet"))
    lines = [line.split("\t") for line in capsys.readouterr().out.removesuffix("\n").split("\n")]
    assert {len(line) for line in lines} == {4}
    assert {state for state, *_ in lines} <= {"ok", "warning"}
    found = {what: text for _, what, text, _ in lines}
    for what in (
        "nmtkit",
        "Python",
        "locale",
        "file names",
        "stdout",
        "memory",
        "disk",
        "processor",
        "threads",
        "kernels",
        "GPU",
    ):
        assert found[what]
    for name in ("torch", "numpy", "sentencepiece", "sacrebleu"):
        assert found[name] == metadata.version(name)
    assert [what for _, what, *_ in lines][-2:] == ["gloo 1 MiB", "copy task"]
    assert all(remedy for state, _, _, remedy in lines if state != "ok")


def test_as_json_with_what_was_measured(quick, tmp_path, capsys):
    doctor.doctor(RunFolder(tmp_path / "run"), Log("quiet"), as_json=True)
    *first, link, copying = json.loads(capsys.readouterr().out)["findings"]
    assert link == {
        "what": "gloo 1 MiB",
        "found": "2.00 GB/s among 2 processes",
        "state": "ok",
        "remedy": "",
        "figures": {"gigabytes_per_second": 2.0},
    }
    assert (copying["what"], copying["figures"]) == ("copy task", {})
    assert {"Python", "memory", "threads"} <= {finding["what"] for finding in first}


def test_on_a_terminal_it_stands_in_columns(quick, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(doctor, "findings", lambda *_: [Finding("a", "b"), Finding("c", "d", "warning", "do e")])
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    doctor.doctor(RunFolder(tmp_path), Log())
    said = capsys.readouterr()
    assert said.out == f"ok       {'a':15}b\nwarning  {'c':15}d\n{'':24}→ do e\n"
    assert said.err == "nmtkit can work here; 1 warning\n"


def test_a_fault_ends_it_with_an_error(quick, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(doctor_checks, "package", lambda name, oldest: Finding(name, "gone", "fault", "bring it"))
    monkeypatch.setattr(doctor, "versions", doctor_checks.versions)
    with pytest.raises(NmtkitError, match="faults found; mend what the lines say") as caught:
        doctor.doctor(RunFolder(tmp_path), Log("quiet"))
    assert caught.value.exit_code == 1
    out = capsys.readouterr().out
    assert "fault\ttorch\tgone\tbring it\n" in out
    assert "warning\tcopy task\tnot tried" in out


def test_a_closed_stdout_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(NmtkitError, match="standard output is closed"):
        doctor.doctor(RunFolder(tmp_path), Log("quiet"))


# Each check, provoked once


def test_a_missing_package():
    found = doctor_checks.package("no-such-package", "1.2")
    assert found == Finding("no-such-package", "not installed", "fault", 'pip install --upgrade "no-such-package>=1.2"')


@pytest.mark.parametrize(("version", "oldest", "well"), [("2.10.1+cpu", "2.9", True), ("2.4rc1", "2.4.1", False)])
def test_an_old_package(version, oldest, well, monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda _: version)
    found = doctor_checks.package("numpy", oldest)
    assert (found.state, "too old" in found.found) == (("ok", False) if well else ("fault", True))


def test_a_broken_package(monkeypatch):
    def fail(name):
        raise OSError("libgomp.so.1: cannot open shared object file\nand more")

    monkeypatch.setattr(importlib, "import_module", fail)
    found = doctor_checks.package("numpy", "1")
    assert found.state == "fault"
    assert found.found.endswith("cannot be imported: libgomp.so.1: cannot open shared object file")
    assert found.remedy.endswith("--force-reinstall")


def test_not_installed_itself(monkeypatch):
    def fail(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", fail)
    assert list(doctor_checks.versions())[-1].state == "warning"


def test_packages_of_extras_are_not_asked_for():
    found = {finding.what for finding in doctor_checks.versions()}
    assert not {"tensorboard", "pytest", "ruff"} & found
    assert ("backports-zstd" in found) == (sys.version_info < (3, 14))


@pytest.mark.parametrize(
    ("flags", "state", "said"),
    [
        ("fpu sse2", "warning", "no vector instructions that matter"),
        ("fpu avx2 avx512f avx512_bf16 amx_bf16", "ok", "avx2 avx512f avx512_bf16 amx_bf16; trains in bf16"),
        ("fpu avx2", "ok", "Old One, avx2; trains in fp32"),
    ],
)
def test_processor(flags, state, said, tmp_path, monkeypatch):
    text = f"processor\t: 0\nmodel name\t: Old One\nflags\t\t: {flags}\n\nprocessor\t: 1\n"
    (tmp_path / "cpuinfo").write_text(text)
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr("nmtkit.training.precision._cpu_computes_bf16", lambda: "bf16" in flags)
    found = doctor_checks.processor()
    assert found.state == state
    assert said in found.found


def test_processor_of_another_system(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "nothing")
    assert doctor_checks.processor().state == "ok"


@pytest.mark.parametrize(
    ("cores", "count", "variable", "state"),
    [(2, 2, True, "ok"), (4, 2, False, "ok"), (2, 8, False, "ok"), (4, 2, True, "warning"), (2, 8, True, "warning")],
)
def test_threads(cores, count, variable, state, monkeypatch):
    counts = [count]
    for module in (doctor_checks, api):
        monkeypatch.setattr(module, "processors", lambda: cores)
    monkeypatch.setattr(torch, "get_num_threads", lambda: counts[-1])
    monkeypatch.setattr(torch, "set_num_threads", counts.append)
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if variable:
        monkeypatch.setenv("OMP_NUM_THREADS", str(count))
    found = doctor_checks.threads()
    assert found.state == state
    assert found.found == f"{count if variable else min(count, cores)} on {cores} cores"
    assert (str(cores) in found.remedy) == (variable and count > cores)


@pytest.mark.parametrize(("quota", "cores"), [("max 100000", 8), ("150000 100000", 1), ("300000 100000", 3), ("", 8)])
def test_usable_cores_are_those_of_the_container(quota, cores, tmp_path, monkeypatch):
    (tmp_path / "cpu.max").write_text(quota)
    monkeypatch.setattr(workers, "CPU_QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)))
    assert workers.processors() == cores


def test_kernels():
    assert doctor_checks.kernels() == Finding("kernels", "compiled for this processor")


def test_no_compiler_for_kernels(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    found = doctor_checks.kernels()
    assert (found.state, found.found) == ("warning", "there is no C++ compiler (c++, g++ or clang++)")
    assert "install g++" in found.remedy


def test_gpus(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: True)
    monkeypatch.setattr(
        torch.cuda, "get_device_properties", lambda n: SimpleNamespace(name=f"Card {n}", total_memory=80 * 2**30)
    )
    assert [finding.found for finding in doctor_checks.gpus()] == [
        "cuda:0 Card 0, 80 GiB, bf16",
        "cuda:1 Card 1, 80 GiB, bf16",
    ]


@pytest.mark.parametrize(("free", "state"), [(8, "ok"), (1, "warning")])
def test_memory(free, state, tmp_path, monkeypatch):
    (tmp_path / "meminfo").write_text(f"MemTotal:  {16 * 2**20} kB\nMemFree: 1 kB\nMemAvailable: {free * 2**20} kB\n")
    monkeypatch.setattr(doctor_checks, "MEMINFO", tmp_path / "meminfo")
    found = doctor_checks.memory()
    assert (found.state, found.found) == (state, f"{free}.0 of 16.0 GiB free")


@pytest.mark.parametrize(("free", "state"), [(10.0, "ok"), (1.0, "warning"), (0.1, "fault")])
def test_disk(free, state, tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=int(free * 2**30)))
    found = doctor_checks.disk(tmp_path / "not" / "there" / "yet")
    assert (found.state, found.found) == (state, f"{free} GiB free in {tmp_path}")


def test_a_folder_that_cannot_be_written_to(tmp_path, monkeypatch):
    def fail(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", fail)
    found = doctor_checks.disk(tmp_path)
    assert (found.state, found.found) == ("fault", f"{tmp_path}: Permission denied")


def test_text_that_is_not_utf8(monkeypatch):
    monkeypatch.setattr("locale.getpreferredencoding", lambda do_setlocale: "ANSI_X3.4-1968")
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "UTF-8")
    states = {finding.what: finding.state for finding in doctor_checks.text()}
    assert (states["locale"], states["file names"]) == ("warning", "ok")


# The copy task


def test_sequences_are_distinct_and_in_range():
    sequences = doctor_copying.random_sequences(500)
    assert len({tuple(sequence) for sequence in sequences}) == 500
    assert {len(sequence) for sequence in sequences} == set(range(3, 9))
    assert {token for sequence in sequences for token in sequence} == set(range(4, 20))


def test_a_model_that_has_not_learned_is_a_fault(monkeypatch):
    monkeypatch.setattr(doctor_copying, "PAIRS", 400)
    monkeypatch.setattr(doctor_copying, "HELD_OUT", 20)
    few = doctor_copying.TRAINING.model_copy(
        update={"stop": doctor_copying.TRAINING.stop.model_copy(update={"updates": 2})}
    )
    found = doctor_copying.copy_task("cpu", few)
    assert found.state == "fault"
    assert "of 20 unseen sequences" in found.found
    assert found.remedy


def test_a_device_that_is_none():
    with pytest.raises(ConfigError, match="device"):
        doctor_copying.copy_task("abacus")


@pytest.mark.slow
def test_copying_is_learned():
    found = doctor_copying.copy_task("cpu")
    assert (found.state, found.remedy) == ("ok", "")
    assert found.found.startswith("100.0% of 200 unseen sequences")

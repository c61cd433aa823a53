"""What a training runs on: versions, source, commit, machine."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

import nmtkit
from nmtkit.training.machine import checkout, cpu_fields, gpu_numbers, machine, software, source_digest


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of two files."""
    folder = tmp_path / "repository" / "package"
    (folder / "inner" / "__pycache__").mkdir(parents=True)
    (folder / "a.py").write_text("a")
    (folder / "inner" / "b.py").write_text("b")
    (folder / "inner" / "__pycache__" / "b.pyc").write_text("compiled")
    return folder


def test_versions_are_those_installed() -> None:
    found = software()
    assert found["nmtkit"] == nmtkit.__version__
    assert found["torch"] == torch.__version__
    assert {"commit", "changed", "source", "python", "sentencepiece", "sacrebleu"} <= found.keys()
    assert len(found["source"]) == 64


def test_the_source_is_known_by_its_content(package: Path, tmp_path: Path) -> None:
    digest = source_digest(package)
    copy = shutil.copytree(package, tmp_path / "copy")
    (copy / "inner" / "__pycache__" / "c.pyc").write_text("compiled elsewhere")
    assert source_digest(copy) == digest
    other = shutil.copytree(package, tmp_path / "other")
    (other / "a.py").write_text("b")
    moved = shutil.copytree(package, tmp_path / "moved")
    (moved / "a.py").rename(moved / "c.py")
    assert len({digest, source_digest(other), source_digest(moved)}) == 3


def git(folder: Path, *arguments: str) -> str:
    if shutil.which("git") is None:
        pytest.skip("needs git")
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env={**os.environ, **who}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("change", ["nothing", "a file", "a new file", "a file elsewhere"])
def test_a_checkout_has_its_commit_and_whether_the_package_was_changed(
    package: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = package.parent
    git(root, "init", "-q")
    (root / ".gitignore").write_text("__pycache__/\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    commit = git(root, "rev-parse", "HEAD")
    if change != "nothing":
        file = {"a file": package / "a.py", "a new file": package / "c.py", "a file elsewhere": root / "README"}[change]
        file.write_text("new")
    monkeypatch.setenv("GIT_DIR", "elsewhere")  # as where a hook of another repository calls
    assert checkout(package) == {"commit": commit, "changed": change in ("a file", "a new file")}


def test_a_package_deep_in_the_repository_of_others_has_no_commit(package: Path) -> None:
    """As where a virtual environment lies in a repository."""
    git(package.parent.parent, "init", "-q")
    assert checkout(package) == {"commit": None, "changed": None}


def test_what_git_does_not_tell_is_not_known(package: Path) -> None:
    (package.parent / ".git").write_text("gitdir: nowhere")
    assert checkout(package) == {"commit": None, "changed": None}


def test_the_machine() -> None:
    found = machine(torch.device("cpu"), kernels=False)
    assert (found["device"], found["processes"], found["gpus"], found["kernels"]) == ("cpu", 1, [], False)
    assert len(found["hosts"]) == 1
    assert found["threads"] == torch.get_num_threads()
    assert found["cores"] >= 1
    assert found["cpu"]


def test_hosts_are_named_once_and_processes_counted() -> None:
    found = machine(torch.device("cpu"), kernels=True, hosts=["a", "a", "b", "b"])
    assert (found["hosts"], found["processes"]) == (["a", "b"], 4)


def test_gpus_are_those_of_this_hosts_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 8)
    assert list(gpu_numbers(torch.device("cpu"), 4)) == []
    assert list(gpu_numbers(torch.device("cuda:0"), 4)) == [0, 1, 2, 3]
    assert list(gpu_numbers(torch.device("cuda:3"), 1)) == [3]


def test_what_linux_says_of_a_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text("processor\t: 0\nmodel name\t: A: B\n\nprocessor\t: 1\nmodel name\t: C\n")
    monkeypatch.setattr("nmtkit.training.machine.CPUINFO", file)
    assert cpu_fields()["model name"] == "A: B"
    monkeypatch.setattr("nmtkit.training.machine.CPUINFO", tmp_path / "nothing")
    assert cpu_fields() == {}

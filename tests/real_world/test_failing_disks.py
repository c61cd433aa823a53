"""Full and read-only disks, at every moment: said with the file, nothing half-written, and the same command goes on."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from kills.processes import NEVER, STRIKER
from toy.corpora import write_project
from toy.projects import Project, same

from real_world.scene import Nmt, Scene, check_message, check_nothing_half_written, check_training_refuses

CHANGED = "prepare --set prepare.max_pieces=40 --set prepare.segmenter.vocabulary_size=90"
"""Makes everything anew that was prepared before."""


def steps_of(command: str, here: Scene, nmt: Nmt) -> int:
    """Return how many writing steps a command takes on a disk with room."""
    here.disk.fill_after(1_000_000)
    code, _, err = nmt(command)
    assert code == 0, err
    here.disk.repair()
    return here.disk.steps


@pytest.mark.parametrize("stride", [17, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize(("stage", "command"), [("raw", "prepare"), ("prepared", CHANGED)], ids=["first", "again"])
def test_the_disk_fills_up_at_any_step_of_a_preparation(
    stage: str, command: str, stride: int, scene: Callable[[str], Scene], nmt: Nmt
) -> None:
    here = scene(stage)
    sound = shutil.copytree(here.folder, here.folder.with_name("sound"))
    steps = steps_of(command, here, nmt)
    assert steps > 40
    undisturbed = here.files()
    for room in range(0, steps, stride):
        shutil.rmtree(here.run.path, ignore_errors=True)
        if (sound / "run").exists():
            shutil.copytree(sound / "run", here.run.path)
        before = here.files()
        here.disk.fill_after(room)
        code, out, err = nmt(command)
        check_message(code, out, err)
        assert code == 1
        assert "nmtkit: error: run" in err
        assert ": No space left on device; make room " in err
        if room + 1 < steps:  # behind the last step but one, everything is whole
            check_nothing_half_written(here, before)
        here.disk.repair()
        if room + 1 < steps:
            check_training_refuses(nmt, command.removeprefix("prepare"))
            (here.run.log).unlink(missing_ok=True)
        assert nmt(command)[0] == 0
        assert here.files().keys() == undisturbed.keys()
        for name, content in undisturbed.items():
            if name != "run/run.lock":
                assert here.files()[name] == content, name


TRAINING = "train --set train.checkpoints.every=2"


@pytest.mark.parametrize("stride", [23, pytest.param(1, marks=pytest.mark.full)])
def test_the_disk_fills_up_at_any_step_of_a_training(
    stride: int, scene: Callable[[str], Scene], nmt: Nmt, trained: Project
) -> None:
    here = scene("prepared")
    sound = shutil.copytree(here.folder, here.folder.with_name("sound"))
    steps = steps_of(TRAINING, here, nmt)
    assert steps > 40
    weights = {name: here.project.weights(name) for name in (8, "average")}
    assert same(weights[8], trained.weights(8))
    for room in range(0, steps, stride):
        shutil.rmtree(here.run.path)
        shutil.copytree(sound / "run", here.run.path)
        here.disk.fill_after(room)
        code, out, err = nmt(TRAINING)
        check_message(code, out, err)
        assert code == 1
        assert "No space left on device" in err
        assert "run/" in err.split("\n")[-2]
        assert not list(here.run.path.rglob("*.tmp"))
        here.disk.repair()
        assert nmt(TRAINING)[0] == 0
        for name, expected in weights.items():
            assert same(here.project.weights(name), expected), room
        assert [record["update"] for record in here.project.records("train")] == [2, 4, 6, 8]
        assert [record["update"] for record in here.project.records("validation")] == [4, 8]


@pytest.mark.parametrize(
    "name", ["config.toml", "train.log", "metrics.jsonl", "state.json", pytest.param("run.lock", id="lock")]
)
def test_a_file_of_a_training_finds_no_room(
    name: str, scene: Callable[[str], Scene], nmt: Nmt, monkeypatch: pytest.MonkeyPatch, trained: Project
) -> None:
    here = scene("prepared")
    here.disk.fill(name)
    with monkeypatch.context() as patch:
        if name == "run.lock":  # held open under a number
            patch.setattr(os, "pwrite", no_room)
        code, out, err = nmt("train")
    check_message(code, out, err)
    assert code == 1
    place = "run/checkpoints/00000004" if name == "state.json" else f"run/{name}"
    assert f"nmtkit: error: {place}: " in err
    assert "No space left on device" in err
    here.disk.repair()
    assert nmt("train")[0] == 0
    assert same(here.project.weights("average"), trained.weights("average"))
    assert [record["update"] for record in here.project.records("train")] == [2, 4, 6, 8]


def no_room(*_: object) -> None:
    raise OSError(28, os.strerror(28))


@pytest.mark.parametrize(
    ("stage", "command", "says"),
    [
        ("prepared", CHANGED, "run/run.lock: Read-only file system; make room or set permissions, or choose another"),
        ("trained", "train", "run/run.lock: Read-only file system; choose a folder that can be written to"),
        ("trained", "average --last 1", "run/run.lock: Read-only file system; choose a folder that can be written"),
        ("trained", "score", "run/translations cannot be written (Read-only file system), and the translations stay"),
        ("trained", "translate in -o run/out", "--output run/out cannot be written (Read-only file system); choose"),
    ],
)
def test_a_read_only_run_folder(
    stage: str, command: str, says: str, scene: Callable[[str], Scene], nmt: Nmt, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = scene(stage)
    before = here.files()
    here.disk.protect(here.run.path)
    with monkeypatch.context() as patch:
        patch.setattr("nmtkit.translation.translator.LineTranslator.hypotheses", unexpected)
        code, out, err = nmt(command)
    check_message(code, out, err)
    assert (code, says in err) == (1, True), err
    assert here.files() == before
    here.disk.repair()
    assert nmt(command)[0] == 0


def unexpected(*_: object) -> None:
    raise AssertionError("work had begun")


def test_a_read_only_run_translates(scene: Callable[[str], Scene], nmt: Nmt) -> None:
    here = scene("trained")
    here.disk.protect(here.run.path)
    assert nmt("translate in -o out")[0] == 0
    assert nmt("prepare")[2] == "run/data is up to date: nothing to prepare\n"


ON_A_SMALL_DISK = """
set -u
mount -t tmpfs -o size=24k none run
{nmt} prepare -q; echo "$?"
mount -o remount,size=64m run
{nmt} prepare -q; echo "$?"
mount -o remount,size="$(($(du -sk run | cut -f1) + 16))k" run
{nmt} train -q; echo "$?"
mount -o remount,size=64m run
{nmt} train -q; echo "$?"
{nmt} translate in -o run/out -q; echo "$?"
mount -o remount,ro run
{nmt} score -q; echo "$?"
{nmt} translate in -q | wc -l
{nmt} train -q; echo "$?"
"""


@pytest.mark.slow
def test_on_a_disk_that_is_really_small_and_really_read_only(tmp_path: Path) -> None:
    done = in_a_mount_of_its_own(ON_A_SMALL_DISK, tmp_path)
    assert done.stdout.split() == ["1", "0", "1", "0", "0", "1", "20", "1"], done.stderr
    errors = [line for line in done.stderr.split("\n") if "error" in line]
    assert len(errors) == 4
    assert all("No space left on device" in line or "MiB are free; make room" in line for line in errors[:2]), errors
    assert all("Read-only file system" in line for line in errors[2:]), errors


def in_a_mount_of_its_own(script: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a script over a raw toy project whose run folder it may mount, where the system lets anyone do that."""
    unshare = shutil.which("unshare")
    probe = [unshare or "unshare", "-Urm", "sh", "-c", 'mount -t tmpfs none "$1"', "sh", str(folder)]
    if unshare is None or subprocess.run(probe, check=False, capture_output=True).returncode:
        pytest.skip("no mounts of one's own here")
    write_project(folder)
    (folder / "run").mkdir()
    (folder / "in").write_bytes((folder / "test.en").read_bytes())
    unchecked = f'"{sys.executable}" "{STRIKER}" --put nmtkit.training.tensor_folder:SPARE_BYTES=-1000000000'
    never = " ".join((signal.SIGKILL.name, NEVER.what, NEVER.place, str(NEVER.count)))
    script = script.format(nmt=f'"{sys.executable}" -m nmtkit', unchecked=f"{unchecked} {never}")
    return subprocess.run(
        [unshare, "-Urm", "sh", "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )


ALL_KEPT = "--set 'train.checkpoints={{{{every=1,keep_last=99,average=0}}}}' --set train.stop.updates={}"

FULL_AMID_TRAINING = f"""
set -u
mount -t tmpfs -o size=64m none run
{{nmt}} prepare -q; echo "$?"
mount -o remount,size="$(($(du -sk run | cut -f1) + 600))k" run
{{unchecked}} train {ALL_KEPT.format(40)}; echo "$?"
ls -A run/checkpoints | xargs
{{nmt}} translate in -q --set translate.checkpoint=last | wc -l
{{nmt}} train {ALL_KEPT.format(40)}; echo "$?"
mount -o remount,size=64m run
{{nmt}} train {ALL_KEPT.format(12)}; echo "$?"
"""
"""The first time, whether there is room for a checkpoint is not asked before, so the disk is full in its middle."""


@pytest.mark.slow
def test_a_disk_that_fills_up_amid_training_leaves_checkpoints_that_load(tmp_path: Path) -> None:
    done = in_a_mount_of_its_own(FULL_AMID_TRAINING, tmp_path)
    prepared, first, listed, translated, second, third = done.stdout.split("\n")[:-1]
    assert (prepared, first, second, third) == ("0", "1", "1", "0"), done.stderr
    names = listed.split()
    assert len(names) > 2
    assert names == [f"{update:08d}" for update in range(1, len(names) + 1)]
    assert translated == "20"
    errors = [line for line in done.stderr.split("\n") if "error" in line]
    assert len(errors) == 2, done.stderr
    failed = f"nmtkit: error: run/checkpoints/{len(names) + 1:08d}: could not be written ("
    assert errors[0].startswith(failed)
    assert "No space left on device" in errors[0]
    assert errors[0].endswith("; make room and run the same command again")
    assert re.search(r"run/checkpoints: a checkpoint needs 17 MiB, but 0 MiB are free; make room", errors[1])
    assert done.stderr.count(f"going on behind update {len(names)}\n") == 2
    assert "finished at update 12 (" in done.stderr
    assert "Traceback" not in done.stderr

"""The same command again, two at once, and ends from outside: a closed pipe, Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from toy.projects import Project, same

from nmtkit.run_lock import RunLock
from real_world.scene import UNFINISHED, Nmt, Scene, check_message, check_training_refuses


def everything(folder: Path) -> dict[str, tuple[int, bytes | None]]:
    """Return time and content of every file, time of every folder."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, None if path.is_dir() else path.read_bytes())
        for path in [folder, *folder.rglob("*")]
    }


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("train", "run: finished at update 8 (train.stop.updates = 8); to train on, raise that limit\n"),
        ("train --set train.stop.updates=6", "run: finished at update 8 (train.stop.updates = 6); to train on, raise"),
        ("prepare", "run/data is up to date: nothing to prepare\n"),
    ],
)
def test_a_finished_run_again_touches_nothing(command: str, says: str, scene: Callable[[str], Scene], nmt: Nmt) -> None:
    here = scene("trained")
    before = everything(here.folder)
    code, out, err = nmt(command)
    assert (code, out) == (0, "")
    assert says in err
    assert everything(here.folder) == before


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("joint", ["true", "false"])
def test_a_vocabulary_too_large_names_the_size_that_succeeds_next(
    kind: str, joint: str, scene: Callable[[str], Scene], nmt: Nmt
) -> None:
    here = scene("raw")
    command = (
        f"prepare --set prepare.segmenter.kind={kind} --set prepare.segmenter.joint={joint} "
        "--set model.share_embeddings=target --set prepare.segmenter.vocabulary_size="
    )
    code, out, err = nmt(f"{command}9000")
    check_message(code, out, err)
    assert code == 1
    assert "prepare.segmenter.vocabulary_size = 9000 is too large: the " in err
    assert sorted(path.name for path in here.run.data.iterdir()) == [".unfinished", "manifest.json"]
    check_training_refuses(nmt)
    sizes = [int(size) for size in re.findall(r"; set it to (\d+) or less", err)]
    code, _, err = nmt(f"{command}{min(sizes)}")
    assert code == 0, err
    assert f"{min(sizes)} pieces" in err
    assert not here.path(UNFINISHED).exists()


@pytest.mark.parametrize("command", ["prepare --set prepare.max_pieces=40", "train", "average --last 1"])
def test_the_second_process_in_a_run_refuses(command: str, scene: Callable[[str], Scene], nmt: Nmt) -> None:
    here = scene("trained")
    with RunLock(here.run.lock) as lock:
        lock.sign()
        before = everything(here.folder)
        code, out, err = nmt(command)
        assert everything(here.folder) == before
    check_message(code, out, err)
    assert (code, err) == (
        1,
        f"nmtkit: error: run: process {os.getpid()} is at work in this folder; wait for it, end it, or use another "
        "folder with --run\n",
    )
    assert nmt(command)[0] == 0


def start(*arguments: str, **options) -> subprocess.Popen:
    command = [sys.executable, "-m", "nmtkit", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def wait_for(something: Callable[[], object]) -> None:
    for _ in range(6000):
        if something():
            return
        time.sleep(0.01)
    raise AssertionError("it never came")


@pytest.mark.slow
def test_the_first_process_is_not_disturbed_by_the_second(
    scene: Callable[[str], Scene], nmt: Nmt, trained: Project
) -> None:
    """Two real processes: the first is held still in the middle of its training while others try."""
    here = scene("prepared")
    with start("train", "-q", cwd=here.folder) as first:
        wait_for(lambda: first.poll() is not None or here.run.metrics.exists())
        first.send_signal(signal.SIGSTOP)
        for command in ("train", "prepare --set train.seed=2", "average --last 1"):
            code, _, err = nmt(command)
            assert code == 1
            assert f"process {first.pid} is at work in this folder" in err or "no run folder" in err
        first.send_signal(signal.SIGCONT)
        out, err = first.communicate(timeout=120)
    assert (first.returncode, out) == (0, b""), err
    for name in (8, "average"):
        assert same(here.project.weights(name), trained.weights(name))


@pytest.mark.slow
def test_a_pipe_that_is_closed_behind_the_first_line(scene: Callable[[str], Scene]) -> None:
    here = scene("trained")
    command = f'"{sys.executable}" -m nmtkit translate -q in 2>said | head -n 1; echo "${{PIPESTATUS[0]}}"'
    here.path("in").write_bytes(here.path("in").read_bytes() * 50)
    done = subprocess.run(["bash", "-c", command], cwd=here.folder, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[1:] == ["141", ""]
    assert here.path("said").read_bytes() == b""


INTERRUPTED = {
    "prepare": ("raw", "nmtkit.commands.prepare_text.clean_into"),
    "prepare, cleaning": ("raw", "nmtkit.corpus.cleaning.append_block"),
    "prepare, packing": ("raw", "nmtkit.commands.prepare_stages.pack_into"),
    "prepare, packed": ("raw", "nmtkit.commands.prepare_stages.side_report"),
    "train": ("prepared", "nmtkit.commands.train.open_data"),
    "translate in -o out": ("trained", "nmtkit.api.load_model"),
    "score": ("trained", "nmtkit.commands.score.write_text"),
    "average --last 2": ("trained", "nmtkit.commands.average.write_mean"),
    "init new --source en --target de": ("raw", "nmtkit.run_folder.sync"),
}


@pytest.mark.parametrize("command", INTERRUPTED)
def test_ctrl_c_ends_every_command_and_the_same_command_goes_on(
    command: str, scene: Callable[[str], Scene], nmt: Nmt, monkeypatch: pytest.MonkeyPatch, prepared: Project
) -> None:
    stage, moment = INTERRUPTED[command]
    command = command.partition(",")[0]
    here = scene(stage)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(moment, interrupted)
        code, out, err = nmt(f"{command} -q")
    assert (code, out) == (130, "")
    assert [line for line in err.split("\n") if not line.startswith("warning: ")] == ["nmtkit: interrupted", ""]
    assert not list(here.folder.rglob("*.tmp"))
    if command == "prepare":
        check_training_refuses(nmt)
    code, _, err = nmt(command)
    assert code == 0, err
    assert not here.path(UNFINISHED).exists()
    if command == "prepare":
        assert files_in(here.run.data) == files_in(prepared.run.data)


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.slow
def test_a_real_ctrl_c_while_translating(scene: Callable[[str], Scene]) -> None:
    here = scene("trained")
    with start("translate", "-o", "out", cwd=here.folder, stdin=subprocess.PIPE) as process:
        process.stdin.write(b"the dog .\n")
        process.stdin.flush()
        for line in process.stderr:
            if line.startswith(b"translating with "):
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"nmtkit: interrupted\n")
    assert not here.path("out").exists()
    assert not [path for path in here.folder.iterdir() if path.name.endswith(".tmp")]

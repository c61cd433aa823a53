"""One process at a time works in a run folder."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nmtkit.errors import CheckpointError
from nmtkit.run_lock import RunLock

PROGRAM = """
import sys
from pathlib import Path
from nmtkit.run_lock import RunLock
with RunLock(Path(sys.argv[1])) as lock:
    lock.sign()
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_second_process_is_told_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "run.lock"
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"held\n"
        with (
            pytest.raises(CheckpointError, match=rf"process {first.pid} is at work in this folder; .*--run"),
            RunLock(path),
        ):
            pass
        first.kill()
        first.wait()
    with RunLock(path) as lock:  # the kernel let go of it
        lock.sign()
    assert path.read_text() == f"{os.getpid()}\n"


def test_a_file_system_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("nmtkit.run_lock.flock", refuse)
    with pytest.raises(OSError, match=r"run\.lock") as raised, RunLock(tmp_path / "run.lock"):
        pass
    assert raised.value.errno == errno.ENOLCK


def test_an_unsigned_lock_changes_nothing_and_is_held_by_somebody_unknown(tmp_path: Path) -> None:
    path = tmp_path / "run.lock"
    path.write_text("")
    with RunLock(path), pytest.raises(CheckpointError, match="process unknown is at work"), RunLock(path):
        pass
    path.write_text("123\n")
    time = path.stat().st_mtime_ns
    with RunLock(path):
        pass
    assert (path.read_text(), path.stat().st_mtime_ns) == ("123\n", time)

"""Worker processes: order, errors, and their end with their parent."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nmtkit.errors import DataError, NmtkitError
from nmtkit.workers import Work, in_order

PROGRAM = """
import sys, time
from pathlib import Path
from nmtkit.workers import Work, in_order

def build(folder):
    def work(task):
        import os
        (Path(folder) / str(os.getpid())).touch()
        time.sleep(60)
    return work

if __name__ == "__main__":
    list(in_order(Work(build, (sys.argv[1],)), range(4), 2))
"""


def add_to(start):
    def add(number):
        if number == 13:
            raise DataError("thirteen; take another")
        if number == 17:
            os._exit(3)
        return start + number, os.getpid()

    return add


@pytest.mark.parametrize("processes", [0, 1, 2])
def test_results_come_in_the_order_of_tasks(processes):
    found = list(in_order(Work(add_to, (100,)), range(12), processes))
    assert [number for number, _ in found] == list(range(100, 112))
    others = {process for _, process in found} - {os.getpid()}
    assert bool(others) == (processes == 2)


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_comes_in_the_place_of_its_task(processes):
    found = in_order(Work(add_to, (0,)), range(10, 20), processes)
    assert [next(found)[0] for _ in range(3)] == [10, 11, 12]
    with pytest.raises(DataError, match="thirteen; take another"):
        next(found)


def test_tasks_are_taken_as_they_are_needed():
    taken = []
    tasks = (taken.append(number) or number for number in range(1_000))
    found = in_order(Work(add_to, (0,)), (number if number not in (13, 17) else 0 for number in tasks), 2)
    next(found)
    assert len(taken) < 20
    found.close()


def test_a_worker_that_dies_is_told():
    with pytest.raises(NmtkitError, match="2 worker processes was ended from outside"):
        list(in_order(Work(add_to, (0,)), [17], 2))


def running(process: int) -> bool:
    """Tell whether a process is there and no corpse."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_their_parent(tmp_path, number):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    (tmp_path / "seen").mkdir()
    parent = subprocess.Popen([sys.executable, program, tmp_path / "seen"], stderr=subprocess.DEVNULL)
    while len(workers := [int(path.name) for path in (tmp_path / "seen").iterdir()]) < 2:
        assert parent.poll() is None
        time.sleep(0.01)
    parent.send_signal(number)
    parent.wait()
    limit = time.monotonic() + 60
    while any(running(worker) for worker in workers):
        assert time.monotonic() < limit
        time.sleep(0.01)

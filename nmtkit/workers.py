"""Worker processes: one function over many tasks on several cores, results in the order of the tasks."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from nmtkit.errors import NmtkitError

Task = TypeVar("Task")
Result = TypeVar("Result")

WAITING_PER_WORKER = 3
"""Tasks sent ahead: enough that no worker waits for work, few enough not to be noticed in memory."""

CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""What a container may use of the processors, in microseconds in so many; "max" for no limit."""

_work: Callable[[Any], Any] | None = None
"""What this process does with a task, where it is a worker."""


class Work(NamedTuple, Generic[Task, Result]):
    """What workers do: `build(*settings)`, called once in each process, returns the function of a task."""

    build: Callable[..., Callable[[Task], Result]]
    settings: tuple[Any, ...]


def cores() -> set[int]:
    """Return the numbers of the cores that this process is bound to: of all, where it is bound to none."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


def processors() -> int:
    """Return how many cores this process may use: those it is bound to, and a container's share of their time."""
    count = len(cores())
    try:
        quota, period = CPU_QUOTA.read_text(encoding="ascii").split()
        return min(count, max(1, int(quota) // int(period)))
    except (OSError, ValueError):
        return count


def in_order(work: Work[Task, Result], tasks: Iterable[Task], processes: int) -> Generator[Result]:
    """Yield the result of each task, in order; with one process, or none, the work is done in this one.

    Tasks are taken as workers come to need them. An error in a task is raised in its place. Raises NmtkitError where a
    worker dies. Workers end with this process, however it ends, and once the generator is closed.
    """
    if processes <= 1:
        function = work.build(*work.settings)
        yield from map(function, tasks)
        return
    # Not by fork: a copy of a process with threads may hold locks that nobody will open.
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _begin, (work,))
    waiting: deque[Future[Result]] = deque()
    try:
        for task in tasks:
            with _without_interrupts():  # so that the workers leave Ctrl-C to this process, and start undisturbed
                waiting.append(pool.submit(_do, task))
            if len(waiting) > processes * WAITING_PER_WORKER:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise NmtkitError(
            f"one of {processes} worker processes was ended from outside, maybe for want of memory; "
            "use fewer of them with --processes"
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _begin(work: Work[Any, Any]) -> None:
    global _work  # noqa: PLW0603  what a process of its own is there for
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # by which the pool ends it
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _work = work.build(*work.settings)


def _end_with(parent: Any) -> None:
    """End this process once its parent has gone: a killed parent tells nobody."""
    parent.join()
    os._exit(1)


def _do(task: Any) -> Any:
    if _work is None:
        raise RuntimeError("not a worker")
    return _work(task)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Hold back Ctrl-C and SIGTERM; processes started meanwhile do not hear of them before they ask to."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

"""Training the cells of Table 3, several at once, until all are finished or somebody says stop."""

import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple

from nmtkit.workers import cores
from recipe_parts.saying import RecipeError, duration, say
from recipe_parts.table3_cells import Base, Cell, start

SECONDS_BETWEEN_LOOKS = 0.2
_TOLD = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Running(NamedTuple):
    """A cell that is being trained."""

    cell: Cell
    process: "subprocess.Popen[bytes]"
    began: float


def train(cells: Sequence[Cell], base: Base, *, at_once: int, inherited: tuple[int, ...]) -> list[Cell]:
    """Train the cells that are not finished, in their order; return those that failed.

    Ends the process after a signal, when the trainings have written their checkpoints.
    """
    waiting = [cell for cell in cells if cell.result() is None]
    if len(waiting) < len(cells):
        say(f"finished before: {len(cells) - len(waiting)} of {len(cells)} cells")
    threads = _threads(at_once) if at_once > 1 else 0
    running: list[Running] = []
    failed: list[Cell] = []
    done = len(cells) - len(waiting)
    with _told() as stop:
        while (waiting or running) and not stop:
            while waiting and len(running) < at_once:
                cell = waiting.pop(0)
                say(f"{cell.name}: training in {cell.run}")
                running.append(Running(cell, start(cell, base, threads, inherited), time.monotonic()))
            time.sleep(SECONDS_BETWEEN_LOOKS)
            for each in [each for each in running if each.process.poll() is not None]:
                running.remove(each)
                done += 1
                if not _succeeded(each, f"{done} of {len(cells)}"):
                    failed.append(each.cell)
        if stop:
            _end(running, stop[0])
            say("interrupted; the same command goes on")
            raise SystemExit(128 + stop[0])
    return failed


def _threads(at_once: int) -> int:
    """Return how many threads each of several trainings has: an equal part of the cores that there are for them."""
    return max(1, len(cores()) // at_once)


def _succeeded(each: Running, count: str) -> bool:
    """Say how a training ended; return whether the cell is finished."""
    cell, code, result = each.cell, each.process.returncode, each.cell.result()
    if code or result is None:
        lines = cell.log.read_text("utf-8", "replace").strip().split("\n")
        say(f"{cell.name}: failed with exit code {code}: {lines[-1]} (see {cell.log})")
        return False
    say(
        f"{cell.name}: perplexity {result.perplexity:.2f}, {result.metric} {result.score:.2f} after "
        f"{duration(time.monotonic() - each.began)} ({count} cells)"
    )
    return True


def _end(running: Sequence[Running], number: int) -> None:
    """Let all trainings write a checkpoint and end."""
    say("stopping: trainings write their checkpoints")
    for each in running:
        # They have sessions of their own, so no terminal tells them.
        each.process.send_signal(signal.SIGTERM if number == signal.SIGHUP else number)
    for each in running:
        each.process.wait()


@contextmanager
def _told() -> Iterator[list[int]]:
    """Note signals in the list that is given, and nothing else."""
    noted: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        noted.append(number)

    usual = {number: signal.signal(number, note) for number in _TOLD}
    try:
        yield noted
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


def failure(failed: Sequence[Cell]) -> RecipeError:
    """Return what to say of cells that failed."""
    names = "; ".join(cell.name for cell in failed)
    return RecipeError(f"{len(failed)} of the cells failed: {names}; the same command trains them again")
